package kernel

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// datagrams is a UDP socket that answers from the address that a client has sent to. The kernel
// reports that address in a message beside the datagram, and takes the same message for the
// answer.
type datagrams struct{ *net.UDPConn }

// sender is where a datagram came from.
type sender struct {
	netip.AddrPort
	// destination is the message of the kernel about the address that it was sent to.
	destination string
}

// Network returns "udp".
func (sender) Network() string { return "udp" }

// String returns the address of the sender and an encoding of the destination, so that it is
// the same for all datagrams of one exchange.
func (s sender) String() string { return fmt.Sprintf("%s to %x", s.AddrPort, s.destination) }

// ReadFrom receives a datagram.
func (d *datagrams) ReadFrom(b []byte) (int, net.Addr, error) {
	var message [64]byte
	n, length, _, from, err := d.ReadMsgUDPAddrPort(b, message[:])
	if err != nil {
		return n, nil, err
	}
	return n, sender{from, string(withoutLink(message[:length]))}, nil
}

// WriteTo sends a datagram to the sender of another one.
func (d *datagrams) WriteTo(b []byte, to net.Addr) (int, error) {
	s, ok := to.(sender)
	if !ok {
		return d.UDPConn.WriteTo(b, to)
	}
	n, _, err := d.WriteMsgUDPAddrPort(b, []byte(s.destination), s.AddrPort)
	return n, err
}

// withoutLink clears the link in a message of the kernel, which would be the one to send on,
// unless the address needs one.
func withoutLink(message []byte) []byte {
	const (
		inet4Link = 0  // of struct in_pktinfo
		inet6Link = 16 // of struct in6_pktinfo, behind the address
		linkSize  = 4
	)
	header, data, _, err := unix.ParseOneSocketControlMessage(message)
	if err != nil {
		return nil
	}
	switch {
	case header.Level == unix.IPPROTO_IP && header.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
		clear(data[inet4Link : inet4Link+linkSize])
	case header.Level == unix.IPPROTO_IPV6 && header.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
		if a, _ := netip.AddrFromSlice(data[:inet6Link]); !a.IsLinkLocalUnicast() {
			clear(data[inet6Link : inet6Link+linkSize])
		}
	default:
		return nil
	}
	return message
}
