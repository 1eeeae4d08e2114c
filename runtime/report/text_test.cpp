// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/text.hpp"

#include <cmath>
#include <string>

#include "tests/catch.hpp"

namespace hearsay::runtime::report {

TEST_CASE("escaped text can neither open an element nor end an attribute") {
  CHECK(escape("</script><b a=\"1\" c='2'>&") ==
        "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  CHECK(escape("plain\ntext é") == "plain\ntext é");
}

TEST_CASE("bytes that are no text become the replacement character") {
  const std::string mark = "\xEF\xBF\xBD";
  CHECK(escape(std::string("a\0b", 3)) == "a" + mark + "b");
  CHECK(escape("\xFF") == mark);
  CHECK(escape("\xC3") == mark);                        // cut off
  CHECK(escape("\xC0\xBC") == mark + mark);             // an overlong '<'
  CHECK(escape("\xED\xA0\x80") == mark + mark + mark);  // half of a surrogate pair
  CHECK(escape("\xF0\x9F\x98\x80") == "\xF0\x9F\x98\x80");
}

TEST_CASE("JSON in a page cannot end its element") {
  const std::string safe = script_safe(R"({"name":"</script><!--"})");
  CHECK(safe.find('<') == std::string::npos);
  CHECK(safe == R"({"name":"\u003c/script>\u003c!--"})");
}

TEST_CASE("numbers have sensible digits") {
  CHECK(shortest(0.0) == "0");
  CHECK(shortest(0.123456) == "0.123");
  CHECK(shortest(12.0) == "12");
  CHECK(shortest(123456.0) == "123456");
  CHECK(shortest(std::nan("")) == "–");
  CHECK(coordinate(-0.04) == "0");
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(1234567) == "1,234,567");
  CHECK(count_text(-1234) == "-1,234");
  CHECK(percent(0.88214) == "88.21\u00a0%");
}

TEST_CASE("times and bytes name their units") {
  CHECK(seconds_text(0.0000215) == "21.5 µs");
  CHECK(seconds_text(0.4861) == "486 ms");
  CHECK(seconds_text(4.126) == "4.13 s");
  CHECK(seconds_text(725) == "12 min 5 s");
  CHECK(seconds_text(3720 * 2) == "2 h 4 min");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(96000000) == "91.6 MiB");
}

TEST_CASE("lists of names are cut with their number") {
  CHECK(list_text({}) == "");
  CHECK(list_text({"a"}) == "a");
  CHECK(list_text({"a", "b"}) == "a and b");
  CHECK(list_text({"a", "b", "c", "d"}) == "a, b, c and d");
  CHECK(list_text({"a", "b", "c", "d", "e"}) == "a, b, c and 2 more");
}

}  // namespace hearsay::runtime::report
