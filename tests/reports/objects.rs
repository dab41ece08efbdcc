// SPDX-License-Identifier: Apache-2.0
// Without debug information each frame of Rust ends in the name of an object, with a hash.
use std::hint::black_box;

#[inline(never)]
fn rust_read_past() -> u8 {
    let v = black_box(vec![1u8; 4]);
    let r = unsafe { std::ptr::read_volatile(v.as_ptr().add(1 << 30)) };
    black_box(r)
}

#[inline(never)]
fn rust_panics() -> u8 {
    let v = black_box(vec![1u8; 4]);
    let r = v[black_box(40)];
    black_box(r)
}

#[inline(never)]
fn dispatch(name: &[u8]) -> u8 {
    let r = match name {
        b"rust_read_past" => rust_read_past(),
        b"rust_panics" => rust_panics(),
        _ => 0,
    };
    black_box(r)
}

#[no_mangle]
pub extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    let name = if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, size) } };
    black_box(dispatch(name));
    0
}
