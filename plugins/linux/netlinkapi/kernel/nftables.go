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

// The kernel has rules of nftables as programs for a machine of its own; nft translates. A
// library for its netlink protocol does not read the language that users write, so the program
// is needed anyway, and it uses the kernel's transactions.

// NFTable returns the content of a table; see netlinkapi.Nftables.
func (h *handle) NFTable(ctx context.Context, t netlinkapi.NFTable, state bool) (content string, err error) {
	err = h.inside(ctx, func() error {
		content, err = h.k.programs.listNFTable(ctx, t, state)
		return err
	})
	return content, err
}

// SetNFTable replaces a table.
func (h *handle) SetNFTable(ctx context.Context, t netlinkapi.NFTable, content string) error {
	return h.inside(ctx, func() error { return h.k.programs.setNFTable(ctx, t, content) })
}

// DeleteNFTable deletes a table.
func (h *handle) DeleteNFTable(ctx context.Context, t netlinkapi.NFTable) error {
	return h.inside(ctx, func() error {
		_, err := h.k.programs.nft(ctx, "delete table "+t.String()+"\n", "-f", "-")
		return err
	})
}

// TryNFTable makes a table in a namespace that ends with its thread.
func (h *handle) TryNFTable(ctx context.Context, t netlinkapi.NFTable, content string, state bool) (printed string, err error) {
	err = h.outside(ctx, func() error {
		if err := h.k.programs.setNFTable(ctx, t, content); err != nil {
			return err
		}
		printed, err = h.k.programs.listNFTable(ctx, t, state)
		return err
	})
	return printed, err
}

func (p *programs) listNFTable(ctx context.Context, t netlinkapi.NFTable, state bool) (string, error) {
	args := []string{"list", "table", t.Family, t.Name}
	if !state {
		args = append([]string{"-s"}, args...)
	}
	text, err := p.nft(ctx, "", args...)
	if err != nil {
		return "", err
	}
	var content strings.Builder
	for line := range strings.Lines(text) {
		if inner, ok := strings.CutPrefix(line, "\t"); ok { // else the table itself, and remarks of nft
			content.WriteString(inner)
		}
	}
	return content.String(), nil
}

// linesBefore are the lines before the content in the input of nft.
const linesBefore = 3

func (p *programs) setNFTable(ctx context.Context, t netlinkapi.NFTable, content string) error {
	// A deletion needs a table that exists.
	_, err := p.nft(ctx, fmt.Sprintf("table %[1]s\ndelete table %[1]s\ntable %[1]s {\n%[2]s\n}\n", t, content), "-f", "-")
	return err
}

var (
	// nftError is how nft begins an error: where in the input, if it knows, and what.
	nftError = regexp.MustCompile(`(?m)^(?:\S*?:(\d+):\d+(?:-\d+)?: )?Error: (.*)$`)
	// noTable is what nft says of a table that is not there.
	noTable = regexp.MustCompile(`Error: (Could not process rule: )?No such file or directory\s+(list|delete) table`)
)

// nft runs nft on this thread, and returns its output.
func (p *programs) nft(ctx context.Context, input string, args ...string) (string, error) {
	path, err := exec.LookPath("nft")
	if err != nil {
		return "", fmt.Errorf("%w: nft; install the package nftables", netlinkapi.ErrNoProgram)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	err = p.run(cmd)
	if errors.Is(err, unix.ECHILD) && stderr.Len() == 0 {
		err = nil // process 1 has reaped it; a program that fails prints why
	}
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("nft was ended: %w", context.Cause(ctx))
	}
	return "", explainNFT(stderr.String(), err)
}

// explainNFT turns what nft printed into an error.
func explainNFT(message string, err error) error {
	switch {
	case noTable.MatchString(message):
		return netlinkapi.ErrNotFound
	case strings.Contains(message, "Operation not permitted"), strings.Contains(message, "you must be root"):
		return fmt.Errorf("nft: %w", privilegeError{capNetAdmin})
	case strings.Contains(message, "Protocol not supported"), strings.Contains(message, "cache initialization failed"):
		return fmt.Errorf("nft: %w: %s", netlinkapi.ErrUnsupported, oneLine(message))
	}
	m := nftError.FindStringSubmatch(message)
	if m == nil {
		return fmt.Errorf("nft: %w: %s", err, oneLine(message))
	}
	line, _ := strconv.Atoi(m[1]) // 0 if there is none
	return &netlinkapi.ContentError{Line: max(line-linesBefore, 0), Message: m[2]}
}
