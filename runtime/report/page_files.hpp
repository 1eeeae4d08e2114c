// SPDX-License-Identifier: Apache-2.0
// The page's own sources (page/), as they are in the repository: embed.cmake puts them into a
// source file when the program is built. Lane: any.
#pragma once

#include <string_view>

namespace hearsay::runtime::report {

extern const std::string_view kPageTemplate;  // page/page.html
extern const std::string_view kPageStyle;     // page/page.css
extern const std::string_view kPageScript;    // page/*.js, one after the other

}  // namespace hearsay::runtime::report
