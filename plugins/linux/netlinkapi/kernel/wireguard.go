package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// A WireGuard link is one of the kernel, or a TUN that wireguard-go serves. The latter has a
// socket for its settings in /run/wireguard, with the name that the link had first; an
// alternative name of the link remembers it.

// servedBy begins the alternative name of a link that wireguard-go serves.
const servedBy = "wireguard-go."

// RunWireGuard starts wireguard-go, which makes a link and ends with it. See
// netlinkapi.LinkMaker.
func (h *handle) RunWireGuard(ctx context.Context, program, name string) error {
	return h.call(ctx, func() error { return h.ns.runWireGuard(program, name) })
}

func (ns *namespace) runWireGuard(program, name string) error {
	op := fmt.Sprintf("add link %q with %s", name, program)
	if _, err := ns.linkByName(name); err == nil {
		return classify(op, unix.EEXIST)
	}
	err := ns.inside(func() error {
		cmd := exec.Command(program, name)                   // returns when the link exists; the process continues in the background
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // not ended by the Ctrl-C that ends the agent
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if err == nil || errors.Is(err, unix.ECHILD) { // process 1 has reaped it
			return nil
		}
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", netlinkapi.ErrNoProgram, err)
		}
		return fmt.Errorf("%w: %s", err, oneLine(stderr.String()))
	})
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	link, err := ns.linkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if err := ns.route.LinkAddAltName(byIndex(link.Index), servedBy+name); err != nil {
		return errors.Join(classify(op, err), ns.deleteLink(link.Index))
	}
	return nil
}

// completeWireGuard fills in the parameters of WireGuard links; names has the names of their
// settings by index.
func (ns *namespace) completeWireGuard(links []netlinkapi.Link, names map[int]string) error {
	if len(names) == 0 {
		return nil
	}
	return ns.withWireGuard(func(c *wgctrl.Client) error {
		for i, l := range links {
			name, is := names[l.Index]
			if !is {
				continue
			}
			links[i].Kind = netlinkapi.KindWireGuard
			d, err := c.Device(name)
			if errors.Is(err, fs.ErrNotExist) { // it is about to end, or wireguard-go was killed
				continue
			}
			if err != nil {
				return fmt.Errorf("read the settings of link %q: %w", l.Name, err)
			}
			links[i].Params = wireGuardParams(d)
		}
		return nil
	})
}

// wireGuardName returns the name of the settings of a link; empty: it is no WireGuard.
func wireGuardName(l netlink.Link) string {
	if l.Type() == netlinkapi.KindWireGuard {
		return l.Attrs().Name
	}
	for _, name := range l.Attrs().AltNames {
		if socket, ok := strings.CutPrefix(name, servedBy); ok {
			return socket
		}
	}
	return ""
}

func (ns *namespace) withWireGuard(f func(*wgctrl.Client) error) error {
	return ns.inside(func() error {
		c, err := wgctrl.New()
		if err != nil {
			return fmt.Errorf("settings of WireGuard: %w", err)
		}
		defer c.Close()
		return f(c)
	})
}

func wireGuardParams(d *wgtypes.Device) netlinkapi.WireGuard {
	peers := make([]netlinkapi.WireGuardPeer, len(d.Peers))
	for i, p := range d.Peers {
		peers[i] = netlinkapi.WireGuardPeer{
			PublicKey: netlinkapi.WireGuardKey(p.PublicKey), PresharedKey: netlinkapi.WireGuardKey(p.PresharedKey),
			Keepalive: uint16(p.PersistentKeepaliveInterval / time.Second),
		}
		if p.Endpoint != nil {
			a := p.Endpoint.AddrPort()
			peers[i].Endpoint = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
		}
		for _, n := range p.AllowedIPs {
			if allowed, ok := prefix(&n); ok {
				peers[i].AllowedIPs = append(peers[i].AllowedIPs, allowed)
			}
		}
	}
	return netlinkapi.NewWireGuard(netlinkapi.WireGuardKey(d.PrivateKey), uint16(d.ListenPort), uint32(d.FirewallMark), peers)
}

// changeWireGuard changes settings. Peers that remain keep their sessions.
func (ns *namespace) changeWireGuard(index int, p netlinkapi.WireGuard) error {
	op := fmt.Sprintf("change link with index %d of kind %s", index, p.Kind())
	raw, err := ns.route.LinkByIndex(index)
	if err != nil {
		return classify(op, err)
	}
	name := wireGuardName(raw)
	if name == "" {
		return fmt.Errorf("%s: it is of kind %s", op, raw.Type())
	}
	err = ns.withWireGuard(func(c *wgctrl.Client) error {
		now, err := c.Device(name)
		if err != nil {
			return err
		}
		return c.ConfigureDevice(name, wireGuardConfig(now, p))
	})
	return classify(op, err)
}

func wireGuardConfig(now *wgtypes.Device, p netlinkapi.WireGuard) wgtypes.Config {
	key, mark := wgtypes.Key(p.PrivateKey), int(p.Mark)
	config := wgtypes.Config{PrivateKey: &key, FirewallMark: &mark}
	if port := int(p.ListenPort); port != 0 && port != now.ListenPort {
		config.ListenPort = &port
	}
	remain := map[wgtypes.Key]bool{}
	for _, peer := range p.Peers() {
		remain[wgtypes.Key(peer.PublicKey)] = true
		config.Peers = append(config.Peers, peerConfig(peer))
	}
	for _, peer := range now.Peers {
		if !remain[peer.PublicKey] {
			config.Peers = append(config.Peers, wgtypes.PeerConfig{PublicKey: peer.PublicKey, Remove: true})
		}
	}
	return config
}

func peerConfig(p netlinkapi.WireGuardPeer) wgtypes.PeerConfig {
	psk, keepalive := wgtypes.Key(p.PresharedKey), time.Duration(p.Keepalive)*time.Second
	config := wgtypes.PeerConfig{
		PublicKey: wgtypes.Key(p.PublicKey), PresharedKey: &psk, PersistentKeepaliveInterval: &keepalive, ReplaceAllowedIPs: true,
	}
	if p.Endpoint.IsValid() {
		config.Endpoint = net.UDPAddrFromAddrPort(p.Endpoint)
	}
	for _, allowed := range p.AllowedIPs {
		config.AllowedIPs = append(config.AllowedIPs, *ipNet(allowed))
	}
	return config
}
