// SPDX-License-Identifier: Apache-2.0
//! A record is the letter 'R', the length of a name, and the name.

/// The name of the first record.  Planted bug: nothing checks that all of it is there.
pub fn name(data: &[u8]) -> Option<&[u8]> {
    match data {
        [b'R', n, rest @ ..] => Some(&rest[..*n as usize]),
        _ => None,
    }
}

/// How many whole records follow each other.
pub fn count(mut data: &[u8]) -> usize {
    let mut n = 0;
    while let [b'R', len, rest @ ..] = data {
        match rest.get(*len as usize..) {
            Some(next) => data = next,
            None => break,
        }
        n += 1;
    }
    n
}
