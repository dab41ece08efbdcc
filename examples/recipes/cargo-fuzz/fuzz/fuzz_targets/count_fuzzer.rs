// SPDX-License-Identifier: Apache-2.0
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // No record has less than two bytes.
    assert!(record::count(data) <= data.len() / 2);
});
