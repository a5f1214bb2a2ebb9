// Command man writes the manual pages of agentctl into a directory, for packages. It is not a
// command of agentctl, which would become larger. SOURCE_DATE_EPOCH sets the date of the pages.
//
//	man DIRECTORY
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "ERROR: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: man DIRECTORY")
	}
	root := cli.Commands()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Tenuto", Manual: "Tenuto"}, args[0])
}
