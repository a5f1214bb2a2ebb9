package span

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"net/netip"
)

// Number is an address or a number, as an unsigned number of 128 bits.
type Number struct{ Hi, Lo uint64 }

// maxNumber is the largest number.
var maxNumber = Number{^uint64(0), ^uint64(0)}

// Less reports whether n is less than m.
func (n Number) Less(m Number) bool { return n.Hi < m.Hi || n.Hi == m.Hi && n.Lo < m.Lo }

// plus returns n+m, and whether it is too large.
func (n Number) plus(m Number) (sum Number, overflow bool) {
	lo, carry := bits.Add64(n.Lo, m.Lo, 0)
	hi, carry := bits.Add64(n.Hi, m.Hi, carry)
	return Number{hi, lo}, carry > 0
}

// minus returns n-m; m is not greater.
func (n Number) minus(m Number) Number {
	lo, borrow := bits.Sub64(n.Lo, m.Lo, 0)
	hi, _ := bits.Sub64(n.Hi, m.Hi, borrow)
	return Number{hi, lo}
}

// lowBits returns a number whose lowest bits are set.
func lowBits(count int) Number {
	switch {
	case count <= 0:
		return Number{}
	case count >= 128:
		return maxNumber
	case count > 64:
		return Number{1<<(count-64) - 1, ^uint64(0)}
	case count == 64:
		return Number{0, ^uint64(0)}
	}
	return Number{0, 1<<count - 1}
}

func (n Number) and(m Number) Number { return Number{n.Hi & m.Hi, n.Lo & m.Lo} }

func (n Number) or(m Number) Number { return Number{n.Hi | m.Hi, n.Lo | m.Lo} }

func (n Number) not() Number { return Number{^n.Hi, ^n.Lo} }

func (n Number) big() *big.Int {
	b := new(big.Int).SetUint64(n.Hi)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(n.Lo))
}

// ofAddress returns the number of an address.
func ofAddress(a netip.Addr) Number {
	if a.Is4() {
		b := a.As4()
		return Number{0, uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return Number{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// address returns the address of a number.
func (n Number) address(v6 bool) netip.Addr {
	if !v6 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(n.Lo))
		return netip.AddrFrom4(b)
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], n.Hi)
	binary.BigEndian.PutUint64(b[8:], n.Lo)
	return netip.AddrFrom16(b)
}
