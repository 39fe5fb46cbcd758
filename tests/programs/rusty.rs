// Functions of Rust, for probes by their debug information; not optimised.
pub struct Conn {
    pub fd: i32,
    pub name: String,
    pub kind: Kind,
}

pub enum Kind {
    Idle,
    Busy(u32),
}

#[inline(never)]
#[no_mangle]
pub fn take_str(s: &str, n: i32) -> usize {
    s.len() + n as usize
}

#[inline(never)]
#[no_mangle]
pub fn take_conn(c: &Conn, yes: bool, pair: (u8, u64), letter: char) -> i32 {
    let k = match c.kind {
        Kind::Idle => 0,
        Kind::Busy(n) => n as i32,
    };
    c.fd + yes as i32 + pair.0 as i32 + pair.1 as i32 + letter as i32 + k
}

#[inline(never)]
#[no_mangle]
pub fn take_value(c: Conn, slice: &[u32]) -> i32 {
    c.fd + slice[0] as i32
}

fn main() {
    let c = Conn { fd: 91, name: "hello".to_string(), kind: Kind::Busy(92) };
    let sum = take_str("rust text", 93) as i32 + take_conn(&c, true, (94, 95), 'x') + take_value(c, &[96, 97, 98]);
    std::process::exit((sum == 0) as i32);
}
