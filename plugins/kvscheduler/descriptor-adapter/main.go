// Command descriptor-adapter writes the typed names under which a plugin uses
// the scheduler's descriptor: <Name>Descriptor, <Name>KVWithMetadata and
// New<Name>Descriptor, in the package "adapter" below the output directory. It
// is meant for go:generate:
//
//	//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name Interface --value-type *model.Interface --import ./model --output-dir descriptor
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run returns the exit status: 0, 1 if generating failed, 2 for wrong usage.
func run(args []string, stderr io.Writer) int {
	req, err := parse(args, stderr)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "descriptor-adapter: %v\n", err)
		return 2
	}
	if err := req.write(); err != nil {
		fmt.Fprintf(stderr, "descriptor-adapter: %v\n", err)
		return 1
	}
	return 0
}

// request is what the command line asks for.
type request struct {
	name      string   // descriptor name, "Interface"
	value     string   // value type, "*model.Interface"
	meta      string   // metadata type
	imports   []string // paths, optionally with "alias="
	outputDir string
}

func parse(args []string, stderr io.Writer) (request, error) {
	var r request
	fs := pflag.NewFlagSet("descriptor-adapter", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetOutput(stderr)
	fs.StringVar(&r.name, "descriptor-name", "", "name of the descriptor, an identifier that begins with a capital letter (required)")
	fs.StringVar(&r.value, "value-type", "", "type of the values, as in *model.Interface (required)")
	fs.StringVar(&r.meta, "meta-type", "interface{}", "type of the metadata")
	fs.StringVar(&r.outputDir, "output-dir", ".", "directory in which adapter/<descriptor name>.go is written")
	fs.StringArrayVar(&r.imports, "import", nil,
		"import path of a package that the types come from, or its directory relative to this one; alias=path renames it (repeatable)")
	if err := fs.Parse(args); err != nil {
		return r, err
	}
	if fs.NArg() > 0 {
		return r, fmt.Errorf("unexpected argument %q: expected flags only", fs.Arg(0))
	}
	return r, r.check()
}
