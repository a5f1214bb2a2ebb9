// Command vpp-release reads the API files (*.api) of releases of VPP and writes the
// tables of the releases in plugins/govppmux/binding/releases:
//
//	vpp-release --src VPP v26.02 v26.06
//
// VPP is a git repository, bare or not, that has the tags; nothing is checked out. Or it
// is a plain tree of sources; then the single argument only names the release. A release
// that the tables have is replaced. Nothing is written if anything is wrong.
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

// tablesDir is where the tables are, seen from the root of the repository.
const tablesDir = "plugins/govppmux/binding/releases"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit status: 0, 1 if the tables cannot be generated, 2 for wrong usage.
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
	tables  string   // directory of the tables
	changed []string // messages that may have a new CRC under their old name
	tags    []string
}

func parseArgs(args []string, stderr io.Writer) (request, error) {
	var r request
	fs := pflag.NewFlagSet("vpp-release", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetOutput(stderr)
	fs.StringVar(&r.src, "src", "", "git repository of VPP, or a plain tree of its sources (required)")
	fs.StringVar(&r.tables, "tables", tablesDir, "directory with messages.tsv and variants.tsv")
	fs.StringSliceVar(&r.changed, "changed", nil, "messages whose fields may differ from those of the release before (comma-separated)")
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

// generate reads all releases before it writes anything, and reports the changes once the
// tables are written.
func (r request) generate(stdout io.Writer) error {
	messages, err := readMessages(filepath.Join(r.tables, messagesFile))
	if err != nil {
		return err
	}
	variants, err := readVariants(filepath.Join(r.tables, variantsFile))
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
	variants.extend(messages, &report)
	if err := variants.check(messages); err != nil {
		return err
	}
	err = writeFiles(
		output{filepath.Join(r.tables, messagesFile), messages.text()},
		output{filepath.Join(r.tables, variantsFile), variants.text(messages)},
	)
	if err != nil {
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

// output is a file to be written.
type output struct {
	path string
	text []byte
}

// writeFiles replaces all files, or none if one of them cannot be written.
func writeFiles(files ...output) error {
	for i, f := range files {
		if err := os.WriteFile(f.path+temporary, f.text, 0o644); err != nil {
			for _, f := range files[:i+1] {
				_ = os.Remove(f.path + temporary) // the first error is the one to report
			}
			return err
		}
	}
	for _, f := range files {
		if err := os.Rename(f.path+temporary, f.path); err != nil {
			return err
		}
	}
	return nil
}

// temporary ends the names of files that are not written completely.
const temporary = ".new"
