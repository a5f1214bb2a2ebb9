package logmanager

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Hooks are the destinations of log entries besides the log itself.
type Hooks struct {
	Syslog   *Hook `json:"syslog" desc:"send entries to syslog: over a network in the format of RFC 5424, or, without address, to the local syslog"`
	Logstash *Hook `json:"logstash" desc:"send entries to Logstash, as JSON, one object per line (codec json_lines)"`
	Fluent   *Hook `json:"fluent" desc:"send entries to Fluentd or Fluent Bit, by the forward protocol; the tag is the name of the agent"`
}

// Hook is a destination of log entries.
type Hook struct {
	Protocol string          `json:"protocol" desc:"udp, tcp or unix (address is the path of the socket); the default is udp, tcp for fluent, and unix without address"`
	Address  string          `json:"address" desc:"name or address of the server, with its port unless port is set; empty: the local syslog (/dev/log)"`
	Port     int             `json:"port" desc:"port of the server; 0: the port in address, else 514 for syslog, 24224 for fluent"`
	Levels   []logging.Level `json:"levels" desc:"levels of the entries to send; the default is error"`
}

// localSyslog is the socket of the local syslog.
const localSyslog = "/dev/log"

const syslogPort = 514

// target returns the network and the address to dial.
func (h Hook) target(defaultPort int, defaultSocket string) (network, address string, err error) {
	switch {
	case h.Protocol == "unix" || h.Protocol == "" && h.Address == "":
		if h.Address = cmp.Or(h.Address, defaultSocket); h.Address == "" {
			return "", "", errors.New("address: expected the address of the server")
		}
		if h.Port != 0 {
			return "", "", fmt.Errorf("port: %d: a unix socket has no port", h.Port)
		}
		return "unix", h.Address, nil
	case !slices.Contains([]string{"", "udp", "tcp"}, h.Protocol):
		return "", "", fmt.Errorf("protocol: %q: expected udp, tcp or unix", h.Protocol)
	case h.Address == "":
		return "", "", errors.New("address: expected the address of the server")
	case h.Port < 0 || h.Port > 65535:
		return "", "", fmt.Errorf("port: %d: expected 1 to 65535", h.Port)
	}
	network = cmp.Or(h.Protocol, "udp")
	host, port, err := net.SplitHostPort(h.Address)
	switch {
	case err == nil && h.Port != 0 && port != strconv.Itoa(h.Port):
		return "", "", fmt.Errorf("port: %d: differs from the port in address, %s", h.Port, port)
	case err == nil:
		return network, net.JoinHostPort(host, port), nil
	case h.Port != 0:
		defaultPort = h.Port
	case defaultPort == 0:
		return "", "", errors.New("port: expected the port of the server")
	}
	return network, net.JoinHostPort(h.Address, strconv.Itoa(defaultPort)), nil
}

// overTCP returns the hook with the default protocol tcp.
func (h *Hook) overTCP() *Hook {
	if h == nil || h.Protocol != "" || h.Address == "" {
		return h
	}
	tcp := *h
	tcp.Protocol = "tcp"
	return &tcp
}

func (h Hooks) validate() error {
	_, err := h.senders("")
	return err
}

// senders returns a sender for each configured hook.
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
	if h.Fluent != nil && h.Fluent.Protocol == "udp" { // fluent uses UDP for heartbeats only
		errs = append(errs, errors.New("hooks.fluent.protocol: udp: expected tcp or unix"))
	} else {
		add("fluent", h.Fluent.overTCP(), fluentPort, "", encodeFluent(app))
	}
	return all, errors.Join(errs...)
}
