package logmanager

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Hooks are the places that entries are sent to, besides the log itself.
type Hooks struct {
	Syslog   *Hook `json:"syslog" desc:"send entries to syslog: as RFC 5424 over a network, to the syslog of this machine without address"`
	Logstash *Hook `json:"logstash" desc:"send entries to Logstash, as JSON, one object a line (its codec json_lines)"`
	Fluent   *Hook `json:"fluent" desc:"send entries to Fluentd or Fluent Bit, by their forward protocol; the tag is the name of the agent"`
}

// Hook is a place that entries are sent to.
type Hook struct {
	Protocol string          `json:"protocol" desc:"udp, tcp, or unix (a socket, whose path is the address); empty: udp, of fluent tcp, or unix without address"`
	Address  string          `json:"address" desc:"name or address of the server, with its port unless port is set; empty: the syslog of this machine (/dev/log)"`
	Port     int             `json:"port" desc:"port of the server; 0: that in address, else 514 for syslog, 24224 for fluent"`
	Levels   []logging.Level `json:"levels" desc:"entries to send; empty: those of the level error"`
}

// localSyslog is the socket of the syslog of a machine.
const localSyslog = "/dev/log"

// syslogPort is the usual port of syslog.
const syslogPort = 514

// target returns the network and the address to dial.
func (h Hook) target(defaultPort int, defaultSocket string) (network, address string, err error) {
	switch {
	case h.Protocol == "unix" || h.Protocol == "" && h.Address == "":
		if h.Address == "" {
			h.Address = defaultSocket
		}
		if h.Address == "" {
			return "", "", errors.New("address: expected that of the server")
		}
		if h.Port != 0 {
			return "", "", fmt.Errorf("port: %d: a unix socket has none", h.Port)
		}
		return "unix", h.Address, nil
	case !slices.Contains([]string{"", "udp", "tcp"}, h.Protocol):
		return "", "", fmt.Errorf("protocol: %q: expected udp, tcp or unix", h.Protocol)
	case h.Address == "":
		return "", "", errors.New("address: expected that of the server")
	case h.Port < 0 || h.Port > 65535:
		return "", "", fmt.Errorf("port: %d: expected 1 to 65535", h.Port)
	}
	network = h.Protocol
	if network == "" {
		network = "udp"
	}
	host, port, err := net.SplitHostPort(h.Address)
	switch {
	case err == nil && h.Port != 0 && port != strconv.Itoa(h.Port):
		return "", "", fmt.Errorf("port: %d: address has another one, %s", h.Port, port)
	case err == nil:
		return network, net.JoinHostPort(host, port), nil
	case h.Port != 0:
		defaultPort = h.Port
	case defaultPort == 0:
		return "", "", errors.New("port: expected that of the server")
	}
	return network, net.JoinHostPort(h.Address, strconv.Itoa(defaultPort)), nil
}

// overTCP is the hook with another default.
func (h *Hook) overTCP() *Hook {
	if h == nil || h.Protocol != "" || h.Address == "" {
		return h
	}
	tcp := *h
	tcp.Protocol = "tcp"
	return &tcp
}

// validate says what is wrong with the hooks.
func (h Hooks) validate() error {
	_, err := h.senders("")
	return err
}

// senders returns the hooks that are configured, with the form of their entries.
func (h Hooks) senders(app string) ([]*sender, error) {
	var all []*sender
	var errs []error
	add := func(name string, hook *Hook, port int, socket string, encoder encoder) {
		if hook == nil {
			return
		}
		network, address, err := hook.target(port, socket)
		if err != nil {
			errs = append(errs, fmt.Errorf("hooks.%s.%w", name, err))
			return
		}
		levels := hook.Levels
		if len(levels) == 0 {
			levels = []logging.Level{logging.ErrorLevel}
		}
		all = append(all, newSender(name, network, address, levels, encoder))
	}
	add("syslog", h.Syslog, syslogPort, localSyslog, encodeSyslog(app))
	add("logstash", h.Logstash, 0, "", encodeLogstash(app))
	if h.Fluent != nil && h.Fluent.Protocol == "udp" { // which carries heartbeats only
		errs = append(errs, errors.New("hooks.fluent.protocol: udp: expected tcp or unix"))
	} else {
		add("fluent", h.Fluent.overTCP(), fluentPort, "", encodeFluent(app))
	}
	return all, errors.Join(errs...)
}
