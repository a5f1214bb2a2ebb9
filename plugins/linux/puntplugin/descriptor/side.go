package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/internal/proxy"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
)

const maxPath = 107 // bytes, as the kernel has it

// side is one side of a proxy that is valid.
type side struct {
	field     string // of the value
	datagrams bool
	path      string // of a Unix socket; empty: a port
	port      uint32
	family    punt.PortBased_L3Protocol
	ip        netip.Addr // invalid: none
	namespace *namespace.NetNamespace
}

func rx(v *punt.Proxy) side {
	return sideOf("rx", v.GetRxPort(), v.GetRxSocket(), isDatagrams(v))
}

func tx(v *punt.Proxy) side {
	return sideOf("tx", v.GetTxPort(), v.GetTxSocket(), isDatagrams(v))
}

func sideOf(name string, p *punt.PortBased, s *punt.SocketBased, datagrams bool) side {
	if s != nil {
		return side{field: name + "_socket", datagrams: datagrams, path: s.GetPath()}
	}
	ip, _ := netip.ParseAddr(p.GetIpAddress()) // invalid if there is none
	ip = ip.Unmap()
	return side{field: name + "_port", datagrams: datagrams, port: p.GetPort(), family: p.GetL3Protocol(), ip: ip, namespace: p.GetNamespace()}
}

func sameSide(a, b side) bool {
	ns := nsmodel.Equal(a.namespace, b.namespace)
	a.namespace, b.namespace = nil, nil
	return ns && a == b
}

// isDatagrams reports what goes through a proxy: datagrams rather than connections.
func isDatagrams(v *punt.Proxy) bool {
	for _, p := range []*punt.PortBased{v.GetRxPort(), v.GetTxPort()} {
		if p != nil {
			return p.GetL4Protocol() == punt.PortBased_UDP
		}
	}
	return v.GetRxSocket().GetType() != punt.SocketBased_STREAM && v.GetTxSocket().GetType() != punt.SocketBased_STREAM
}

// network returns the network of a socket that receives; see netlinkapi.Sockets.
func (s side) network() string {
	if s.path != "" {
		return map[bool]string{false: "unix", true: "unixgram"}[s.datagrams]
	}
	version := map[punt.PortBased_L3Protocol]string{punt.PortBased_IPV4: "4", punt.PortBased_IPV6: "6"}[s.family]
	return map[bool]string{false: "tcp", true: "udp"}[s.datagrams] + version
}

// address returns the address of a socket that receives.
func (s side) address() string {
	if s.path != "" {
		return s.path
	}
	host := ""
	if s.ip.IsValid() {
		host = s.ip.String()
	}
	return net.JoinHostPort(host, strconv.FormatUint(uint64(s.port), 10))
}

// toward returns the side with the address to send to for a client.
func (s side) toward(client net.Addr) side {
	switch {
	case s.path != "" || s.ip.IsValid():
	case s.family == punt.PortBased_IPV6, s.family == punt.PortBased_ALL && netlinkapi.ClientIP(client).Is6():
		s.ip = netip.IPv6Loopback()
	default:
		s.ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return s
}

// dial returns the function that reaches the other side.
func (d proxies) dial(v *punt.Proxy) proxy.Dial {
	to := tx(v)
	return func(ctx context.Context, client net.Addr) (net.Conn, error) {
		h, err := d.Namespaces.Open(ctx, to.namespace)
		if err != nil {
			return nil, err
		}
		defer closeHandle(h)
		return h.Dial(ctx, to.network(), to.toward(client).address())
	}
}

func validate(v *punt.Proxy) error {
	var errs []error
	errs = append(errs, validateSide("rx", v.GetRxPort(), v.GetRxSocket()), validateSide("tx", v.GetTxPort(), v.GetTxSocket()))
	if errors.Join(errs...) == nil {
		errs = append(errs, validateTypes(v))
	}
	return errors.Join(errs...)
}

func validateSide(name string, p *punt.PortBased, s *punt.SocketBased) error {
	switch {
	case p != nil:
		return validatePort(name+"_port", p)
	case s != nil:
		return validateSocket(name+"_socket", s)
	}
	return invalid(name+"_port", "missing; expected %s_port or %s_socket", name, name)
}

func validatePort(field string, p *punt.PortBased) error {
	var errs []error
	if l4 := p.GetL4Protocol(); l4 != punt.PortBased_TCP && l4 != punt.PortBased_UDP {
		errs = append(errs, invalid(field+".l4_protocol", "%s; expected TCP or UDP", l4))
	}
	l3 := p.GetL3Protocol()
	if _, known := punt.PortBased_L3Protocol_name[int32(l3)]; !known {
		errs = append(errs, invalid(field+".l3_protocol", "%s; expected IPV4, IPV6 or ALL", l3))
	}
	if text := p.GetIpAddress(); text != "" {
		ip, _ := netip.ParseAddr(text) // its annotation was checked
		if ip = ip.Unmap(); l3 == punt.PortBased_IPV4 && !ip.Is4() || l3 == punt.PortBased_IPV6 && !ip.Is6() {
			errs = append(errs, invalid(field+".ip_address", "%s; expected one of l3_protocol, which is %s", ip, l3))
		}
	}
	if err := nsmodel.Validate(p.GetNamespace()); err != nil {
		errs = append(errs, invalid(field+".namespace", "%w", err))
	}
	return errors.Join(errs...)
}

func validateSocket(field string, s *punt.SocketBased) error {
	var errs []error
	if path := s.GetPath(); !filepath.IsAbs(path) || len(path) > maxPath {
		errs = append(errs, invalid(field+".path", "%q; expected an absolute path of at most %d bytes", path, maxPath))
	}
	if _, known := punt.SocketBased_Type_name[int32(s.GetType())]; !known {
		errs = append(errs, invalid(field+".type", "%d; expected STREAM or DATAGRAM", s.GetType()))
	}
	return errors.Join(errs...)
}

// validateTypes checks that both sides have the same: connections or datagrams.
func validateTypes(v *punt.Proxy) error {
	want, wants := "connections", punt.SocketBased_STREAM
	if isDatagrams(v) {
		want, wants = "datagrams", punt.SocketBased_DATAGRAM
	}
	if v.GetRxPort() != nil && v.GetTxPort() != nil && v.GetRxPort().GetL4Protocol() != v.GetTxPort().GetL4Protocol() {
		return invalid("tx_port.l4_protocol", "%s; expected %s, which rx_port has", v.GetTxPort().GetL4Protocol(), v.GetRxPort().GetL4Protocol())
	}
	for field, s := range map[string]*punt.SocketBased{"rx_socket.type": v.GetRxSocket(), "tx_socket.type": v.GetTxSocket()} {
		if t := s.GetType(); t != punt.SocketBased_UNDEFINED_TYPE && t != wants {
			return invalid(field, "%s; expected %s, because the other side has %s", t, wants, want)
		}
	}
	if path := v.GetRxSocket().GetPath(); path != "" && path == v.GetTxSocket().GetPath() {
		return invalid("tx_socket.path", "%q is the path of rx_socket; expected another one", path)
	}
	return nil
}

// invalid is the error about one field of a value.
func invalid(field, format string, args ...any) error {
	return api.NewInvalidValueError(fmt.Errorf(format, args...), field)
}
