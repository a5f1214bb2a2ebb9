package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// The kernel has two packet filters with the chains of iptables, and no stable
// interface to either: the programs of iptables are that interface. Which of the two
// they program (iptables-nft or iptables-legacy) is the choice of the host.

// program returns the name of a program: "save" or "restore".
func program(t netlinkapi.FilterTable, what string) string {
	if t.IPv6 {
		return "ip6tables-" + what
	}
	return "iptables-" + what
}

// SaveTable returns a table; see netlinkapi.PacketFilter.
func (h *handle) SaveTable(ctx context.Context, t netlinkapi.FilterTable) (text string, err error) {
	err = h.inside(ctx, func() error {
		text, err = h.k.programs.save(ctx, t)
		return err
	})
	return text, err
}

// RestoreTable changes a table; see netlinkapi.PacketFilter.
func (h *handle) RestoreTable(ctx context.Context, t netlinkapi.FilterTable, lines []string) error {
	return h.inside(ctx, func() error { return h.k.programs.restore(ctx, t, lines) })
}

// TryTable changes a table in a namespace that ends with its thread.
func (h *handle) TryTable(ctx context.Context, t netlinkapi.FilterTable, lines []string) (text string, err error) {
	err = h.outside(ctx, func() error {
		if err := h.k.programs.restore(ctx, t, lines); err != nil {
			return err
		}
		text, err = h.k.programs.save(ctx, t)
		return err
	})
	return text, err
}

// inside is namespace.inside as a method of a handle.
func (l *lease) inside(ctx context.Context, f func() error) error {
	return l.call(ctx, func() error { return l.ns.inside(f) })
}

// outside runs f in a new namespace, which ends with its thread.
func (l *lease) outside(ctx context.Context, f func() error) error {
	return l.call(ctx, func() error {
		return OnOwnThread(func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return classify("make a network namespace", enterError(err))
			}
			return f()
		})
	})
}

// inside runs f on a thread in the namespace; processes that f starts are in it too.
func (ns *namespace) inside(f func() error) error {
	if current(ns.id) { // needs no privileges
		return OnOwnThread(f)
	}
	return inNamespace(ns.file, f)
}

func (p *programs) save(ctx context.Context, t netlinkapi.FilterTable) (string, error) {
	text, err := p.iptables(ctx, "", program(t, "save"), "-t", t.Name)
	if err == nil && !strings.Contains(text, "\nCOMMIT\n") {
		err = fmt.Errorf("%s -t %s: %w: %s", program(t, "save"), t.Name, netlinkapi.ErrIncomplete, oneLine(text))
	}
	return text, err
}

func (p *programs) restore(ctx context.Context, t netlinkapi.FilterTable, lines []string) error {
	_, err := p.iptables(ctx, netlinkapi.RestoreInput(t, lines), program(t, "restore"), "--noflush", "--wait")
	if err == nil {
		return nil
	}
	if m := refusedLine.FindStringSubmatch(err.Error()); m != nil {
		// The first line of the input is the name of the table, and lines count from 1.
		if n, _ := strconv.Atoi(m[1]); n >= 2 && n-2 < len(lines) {
			return &netlinkapi.LineError{Line: n - 2, Err: fmt.Errorf("%q: %w", lines[n-2], err)}
		}
	}
	return err
}

var (
	// refusedLine is how the programs name a line of their input.
	refusedLine = regexp.MustCompile(`\bline:? (\d+)`)
	// hint is what the programs add to an error about their arguments.
	hint = regexp.MustCompile(`(?m)^(Try .* for more information\.|# Warning: .*)$`)
)

// iptables runs a program of iptables on this thread, and returns its output.
func (p *programs) iptables(ctx context.Context, input, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s; install the package iptables", netlinkapi.ErrNoProgram, name)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	err = p.run(cmd)
	message := oneLine(hint.ReplaceAllString(stderr.String(), ""))
	if errors.Is(err, unix.ECHILD) && message == "" {
		err = nil // process 1 has reaped it; a program that fails prints why
	}
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s was ended: %w", name, context.Cause(ctx))
	}
	switch {
	case strings.Contains(message, "Permission denied"), strings.Contains(message, "you must be root"):
		err = privilegeError{capNetAdmin}
	case strings.Contains(message, "Table does not exist"), strings.Contains(message, "do you need to insmod"):
		err = netlinkapi.ErrUnsupported
	}
	return "", fmt.Errorf("%s: %w: %s", name, err, message)
}

// oneLine joins the lines of a message.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
