// Command new-item writes the skeleton of an item of VPP, and prints what remains to be done:
//
//	new-item -request npt66_binding_add_del vpp.npt66.binding
//
// The skeleton compiles. Its tests fail with what is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "new-item:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("new-item", flag.ContinueOnError)
	root := flags.String("root", ".", "the `directory` of the repository")
	request := flags.String("request", "", "the `message` of VPP that adds and removes the item on an interface; default: none yet")
	dump := flags.String("dump", "", "the `message` of VPP that lists the items; default: VPP does not list them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d arguments; expected one, the name of the model, such as vpp.npt66.binding", flags.NArg())
	}
	i, err := newItem(*root, flags.Arg(0))
	if err != nil {
		return err
	}
	if err := i.useMessages(ctx, *request, *dump); err != nil {
		return err
	}
	files, err := i.files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := f.write(*root); err != nil {
			return err
		}
	}
	for _, dir := range []string{"proto", "plugins/vpp/vppplugins", "plugins/vpp/vpptest/catalogue", "plugins/govppmux/vppsim/internal/vnet"} {
		if err := generate(ctx, *root, dir); err != nil {
			return err
		}
	}
	return i.report(out, files)
}

// generate runs go generate in a package of the repository.
func generate(ctx context.Context, root, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "generate", "./"+dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go generate ./%s: %w\n%s", dir, err, out)
	}
	return nil
}

// file is a file of the skeleton.
type file struct {
	name string
	text string
	// grows says that the repository has the file, and text is all of it with the item.
	grows bool
	// todo is what remains to be done in the file.
	todo string
}

func (f file) write(root string) error {
	name := filepath.Join(root, filepath.FromSlash(f.name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.grows {
		mode = os.O_WRONLY | os.O_TRUNC
	}
	to, err := os.OpenFile(name, mode, 0o644)
	if err != nil {
		return err
	}
	_, err = to.WriteString(f.text)
	return errors.Join(err, to.Close())
}

// report prints what was written, and what remains to be done.
func (i *item) report(out io.Writer, files []file) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: wrote a skeleton that compiles. To be done, file by file:\n\n", i.model)
	for n, f := range slices.Concat(files, []file{
		{name: "README.md", todo: "a line in the table of features, for users"},
	}) {
		fmt.Fprintf(&b, "%d. %s\n%s\n", n+1, f.name, indented(f.todo))
	}
	fmt.Fprintf(&b, `
Then:

    go generate ./proto                              # after a change of a .proto file
    go test ./plugins/govppmux/vppsim -args -update  # writes the answers of the simulator into the script
    go test ./plugins/vpp/vpptest -item %s
                                                     # fails with what is missing
    go test ./proto -update                          # when the message is finished: adds it to the table of the schema
    go test ./plugins/orchestrator/allmodels -update # adds the model to the table of keys
    make generate                                    # writes the reference

CONTRIBUTING.md has the shapes of descriptors.
`, i.model)
	_, err := io.WriteString(out, b.String())
	return err
}

func indented(text string) string {
	return "   " + strings.ReplaceAll(text, "\n", "\n   ")
}
