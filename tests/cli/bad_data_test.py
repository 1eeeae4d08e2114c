#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged data files: exit 4 with file and offset. Missing ones: exit 2."""

import gzip
import struct

import harness

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def idx(dims, values):
    return bytes([0, 0, 8, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + bytes(values)


def good_files():
    return {
        TRAIN_IMAGES: idx((40, 4, 4), [i * 7 % 256 for i in range(640)]),
        TRAIN_LABELS: idx((40,), [i % 4 for i in range(40)]),
        TEST_IMAGES: idx((12, 4, 4), [i * 5 % 256 for i in range(192)]),
        TEST_LABELS: idx((12,), [i % 4 for i in range(12)]),
    }


class BadDataTest(harness.CliTest):
    def lay(self, files):
        folder = self.folder / "set"
        for old in folder.glob("*"):
            old.unlink()
        for name, content in files.items():
            self.write(f"set/{name}", content)

    def command(self, kind="idx", folder="set"):
        return ("sim", "--data", f"{kind}:{folder}", "--peers", "2", "--epochs", "1",
                "--model", "mlp:8", "--threads", "1", "--run", "run")

    def damaged(self, files, name, offset, *parts, kind="idx"):
        self.lay(files)
        for command in (self.command(kind), ("data", "describe", "--data", f"{kind}:set")):
            line = self.refused(command, f"set/{name}", *parts, code=4)
            if offset is None:
                self.assertRegex(line, r"offset \d+")
            else:
                self.assertRegex(line, rf"offset {offset}\b")

    def test_whole_files_train_plain_and_packed(self):
        self.lay(good_files())
        result = self.hearsay(*self.command())
        self.assertEqual(result.returncode, 0, result.stderr)
        plain = self.result_of("run")["digest"]
        self.lay({name + ".gz": gzip.compress(data) for name, data in good_files().items()})
        result = self.hearsay(*self.command()[:-1], "packed")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.result_of("packed")["digest"], plain)

    def test_truncated_files_name_file_and_offset(self):
        for name, whole in good_files().items():
            for kept in (0, 8, len(whole) // 2, len(whole) - 1):
                with self.subTest(name=name, kept=kept):
                    self.damaged({**good_files(), name: whole[:kept]}, name, kept)

    def test_bytes_behind_the_end_are_damage(self):
        for name, whole in good_files().items():
            with self.subTest(name=name):
                self.damaged({**good_files(), name: whole + b"x"}, name, len(whole))

    def test_wrong_magic_names_the_wrong_byte(self):
        for name in good_files():
            for at, value, offset in ((0, 1, 0), (2, 13, 2), (3, 2, 3)):
                with self.subTest(name=name, at=at):
                    content = bytearray(good_files()[name])
                    content[at] = value
                    self.damaged({**good_files(), name: bytes(content)}, name, offset)

    def test_counts_of_images_and_labels_must_agree(self):
        for name, count in ((TRAIN_LABELS, 39), (TEST_LABELS, 13)):
            with self.subTest(name=name):
                files = {**good_files(), name: idx((count,), [1] * count)}
                self.damaged(files, name, 4, str(count), "images")

    def test_huge_dimensions_are_refused_without_taking_the_memory(self):
        for dims in ((2**32 - 1, 2**32 - 1, 2**32 - 1), (2**31, 4, 4)):
            with self.subTest(dims=dims):
                self.damaged({**good_files(), TRAIN_IMAGES: idx(dims, [0] * 640)}, TRAIN_IMAGES,
                             None)

    def test_test_images_of_another_size_are_damage(self):
        files = {**good_files(), TEST_IMAGES: idx((12, 4, 5), [0] * 240)}
        self.damaged(files, TEST_IMAGES, 8, "4 x 5", "4 x 4")

    def test_labels_out_of_range_are_damage(self):
        files = {**good_files(), TEST_LABELS: idx((12,), [1] * 11 + [9])}
        self.damaged(files, TEST_LABELS, 8 + 11, "label 9")
        files = {**good_files(), TRAIN_LABELS: idx((40,), [1] * 39 + [12])}
        self.damaged(files, TRAIN_LABELS, 8 + 39, "label 12", kind="mnist")

    def test_damaged_gzip_is_found(self):
        whole = gzip.compress(bytes(good_files()[TRAIN_IMAGES]))
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 0xFF
        cases = {"flipped": bytes(flipped), "tail cut": whole[:-5], "half": whole[:len(whole) // 2],
                 "checksum": whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:],
                 "only magic": whole[:2], "garbage behind": whole + b"garbage"}
        files = good_files()
        del files[TRAIN_IMAGES]
        for case, content in cases.items():
            with self.subTest(case=case):
                name = TRAIN_IMAGES + ".gz"
                self.damaged({**files, name: content}, name, None, "gzip")

    def test_a_missing_folder_is_a_usage_error(self):
        self.refused(self.command(folder="nowhere"), "nowhere", "--data")

    def test_a_missing_file_is_a_usage_error(self):
        for name in good_files():
            with self.subTest(name=name):
                files = good_files()
                del files[name]
                self.lay(files)
                self.refused(self.command(), f"set/{name}")

    def test_a_folder_in_place_of_a_file_is_a_usage_error(self):
        files = good_files()
        del files[TRAIN_LABELS]
        self.lay(files)
        (self.folder / "set" / TRAIN_LABELS).mkdir()
        self.refused(self.command(), TRAIN_LABELS)


if __name__ == "__main__":
    harness.main()
