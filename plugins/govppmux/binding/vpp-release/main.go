// Command vpp-release reads the API files (*.api) of releases of VPP and writes the
// table of their messages, plugins/govppmux/binding/releases/messages.tsv:
//
//	vpp-release --src VPP v26.02 v26.06
//
// VPP is a git repository, bare or not, that has the tags; nothing is checked out. Or it
// is a plain tree of sources; then the single argument only names the release. A release
// that the table has is replaced. Nothing is written if anything is wrong.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// tablesDir is the directory of the table, seen from the root of the repository.
const tablesDir = "plugins/govppmux/binding/releases"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit status: 0, 1 if the table cannot be generated, 2 for wrong usage.
func run(args []string, stdout, stderr io.Writer) int {
	req, err := parseArgs(args, stderr)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "vpp-release: %v\n", err)
		return 2
	}
	if err := req.generate(stdout); err != nil {
		fmt.Fprintf(stderr, "vpp-release: %v\n", err)
		return 1
	}
	return 0
}

// request is what the command line asks for.
type request struct {
	src     string   // a git repository of VPP, or a tree of its sources
	tables  string   // directory of the table
	changed []string // messages that may have a new CRC under their old name
	tags    []string
}

func parseArgs(args []string, stderr io.Writer) (request, error) {
	var r request
	fs := pflag.NewFlagSet("vpp-release", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetOutput(stderr)
	fs.StringVar(&r.src, "src", "", "git repository of VPP, or a plain tree of its sources (required)")
	fs.StringVar(&r.tables, "tables", tablesDir, "directory with messages.tsv")
	fs.StringSliceVar(&r.changed, "changed", nil, "messages whose fields may differ from the previous release (comma-separated)")
	if err := fs.Parse(args); err != nil {
		return r, err
	}
	r.tags = fs.Args()
	switch {
	case r.src == "":
		return r, errors.New("--src is missing: expected a git repository of VPP, or a tree of its sources")
	case len(r.tags) == 0:
		return r, errors.New("missing argument: a tag of VPP such as v26.06")
	}
	return r, nil
}

// generate reads all releases before it writes the table, and reports the changes once it
// is written.
func (r request) generate(stdout io.Writer) error {
	messages, err := readMessages(filepath.Join(r.tables, messagesFile))
	if err != nil {
		return err
	}
	var report bytes.Buffer
	unused := slices.Clone(r.changed)
	for _, tag := range r.tags {
		c, err := r.addRelease(messages, tag, &report)
		if err != nil {
			return err
		}
		for _, m := range c.changed {
			unused = slices.DeleteFunc(unused, func(name string) bool { return name == m.name })
		}
	}
	if len(unused) > 0 {
		return fmt.Errorf("--changed %s: the message has the same CRC as in the release before: remove it from the list", unused[0])
	}
	if err := replaceFile(filepath.Join(r.tables, messagesFile), messages.text()); err != nil {
		return err
	}
	_, err = report.WriteTo(stdout)
	return err
}

// addRelease reads a release, puts it into the table and reports its changes.
func (r request) addRelease(messages *messageTable, tag string, report io.Writer) (changes, error) {
	version, err := binding.ParseVersion(tag)
	if err != nil {
		return changes{}, fmt.Errorf("tag %q: expected v and a release, such as v26.06", tag)
	}
	files, err := readAPIFiles(r.src, tag)
	if err != nil {
		return changes{}, err
	}
	found, err := messagesOf(files)
	if err != nil {
		return changes{}, fmt.Errorf("%s: %w", tag, err)
	}
	c, err := messages.add(version, found, r.changed)
	if err != nil {
		return changes{}, fmt.Errorf("%s: %w", tag, err)
	}
	c.print(report, version.String(), len(files), len(found))
	return c, nil
}

// replaceFile replaces a file, or leaves it as it is if it cannot be written.
func replaceFile(path string, text []byte) error {
	if err := os.WriteFile(path+temporary, text, 0o644); err != nil {
		_ = os.Remove(path + temporary) // the first error is the one to report
		return err
	}
	return os.Rename(path+temporary, path)
}

// temporary ends the name of a file that is not written completely.
const temporary = ".new"
