package model

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
)

//go:embed skeleton/*.txt
var skeleton embed.FS

// skeletonFiles are the files of a new agent, by their templates.
var skeletonFiles = []struct{ template, name string }{
	{"go.mod", "go.mod"},
	{"main.go", "main.go"},
	{"item.proto", "model/${type}.proto"},
	{"model.go", "model/model.go"},
	{"descriptor.go", "${package}/descriptor.go"},
	{"plugin.go", "${package}/plugin.go"},
	{"plugin_test.go", "${package}/plugin_test.go"},
	{"items.yaml", "items.yaml"},
}

type newOptions struct {
	*cmdutil.Factory
	dir, module, checkout string
}

func newNew(f *cmdutil.Factory) *cobra.Command {
	o := &newOptions{Factory: f}
	cmd := &cobra.Command{
		Use: "new MODEL", Args: cmdutil.Args(cobra.ExactArgs(1)),
		Short: "Write an agent with a new model, in a Go module of its own",
		Long: "Writes the source of an agent with a model of your own: a Go module with the message, the plugin\n" +
			"with a typed descriptor, its test, and the program. It builds and runs as it is. The plugin keeps the\n" +
			"items in memory until you write the code that configures them. MODEL is MODULE.TYPE, such as\n" +
			"motd.message; the module may have two words, such as acme.motd.message.",
		Example: "  mkdir motd && cd motd && agentctl model new motd.message --checkout ../tenuto",
		RunE:    o.run,
	}
	cmd.Flags().StringVar(&o.dir, "dir", ".", "`directory` of the agent; it is created")
	cmd.Flags().StringVar(&o.module, "module", "", "`path` of the Go module; default: example.com/ and the last word of the model's module")
	cmd.Flags().StringVar(&o.checkout, "checkout", "", "`directory` with the source of Tenuto, which is not published as a Go module yet; required")
	return cmd
}

var (
	newModelName  = regexp.MustCompile(`^([a-z][a-z0-9]*(?:\.[a-z][a-z0-9]*)?)\.([a-z][a-z0-9]*(?:-[a-z0-9]+)*)$`)
	newModulePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(?:/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)
	// ownRoots are the first words of the models of Tenuto.
	ownRoots = []string{"vpp", "linux", "netalloc", "ligato", "tenuto"}
	// takenNames are directories with another meaning, and plugins of the agent.
	takenNames = []string{"main", "init", "model", "bin", "vendor", "testdata", "http", "probe", "kvscheduler", "servicelabel", "filedb", "orchestrator"}
)

func (o *newOptions) run(_ *cobra.Command, args []string) error {
	words, err := o.words(args[0])
	if err != nil {
		return err
	}
	expand := func(text string) string { return os.Expand(text, func(word string) string { return words[word] }) }
	var names []string
	for _, f := range skeletonFiles {
		name := expand(f.name)
		if _, err := os.Lstat(filepath.Join(o.dir, name)); err == nil {
			return fmt.Errorf("%s exists: expected a directory without the files of an agent", filepath.Join(o.dir, name))
		}
		names = append(names, name)
	}
	for i, f := range skeletonFiles {
		text, err := skeleton.ReadFile("skeleton/" + f.template + ".txt")
		if err != nil {
			return err
		}
		if err := writeNew(filepath.Join(o.dir, names[i]), expand(string(text))); err != nil {
			return err
		}
	}
	return o.Printf("%s", expand("wrote "+strings.Join(names, ", ")+`

Build and run it in its directory:

    go mod tidy
    go generate ./...
    go test ./...
    go build -trimpath -tags grpcnotrace -ldflags "-s -w" -o bin/${package} .
    bin/${package}

Then change:

    model/${type}.proto: the fields of an item, with comments; run go generate ./... after a change
    ${package}/descriptor.go: which values are valid, and how an item is configured
    ${package}/plugin.go: the system that is configured, instead of the memory
`))
}

// words returns the words of the templates.
func (o *newOptions) words(name string) (map[string]string, error) {
	m := newModelName.FindStringSubmatch(name)
	if m == nil {
		return nil, exit.Usagef("%q: expected the name of a model, MODULE.TYPE in lower case, such as motd.message or acme.motd.message", name)
	}
	module, typ := m[1], m[2]
	root, pkg, found := strings.Cut(module, ".")
	if !found {
		pkg = root
	}
	if slices.Contains(ownRoots, root) {
		return nil, exit.Usagef("%q: models of Tenuto begin with %s, expected another first word", name, root)
	}
	if token.IsKeyword(pkg) || slices.Contains(takenNames, pkg) {
		return nil, exit.Usagef("%q: the Go package of the plugin cannot have the name %s, expected another word before the type", name, pkg)
	}
	path := cmp.Or(o.module, "example.com/"+pkg)
	if !newModulePath.MatchString(path) {
		return nil, exit.Usagef("--module %q: expected the path of a Go module, such as example.com/motd", path)
	}
	checkout, err := o.relative()
	if err != nil {
		return nil, err
	}
	var item string
	for part := range strings.SplitSeq(typ, "-") {
		item += strings.ToUpper(part[:1]) + part[1:]
	}
	return map[string]string{
		"model": name, "root": root, "path": strings.ReplaceAll(module, ".", "/"), "package": pkg, "type": typ,
		"text": strings.ReplaceAll(typ, "-", " "), "Item": item, "module": path, "checkout": checkout,
	}, nil
}

// relative returns the directory of the checkout as go.mod of the agent names it.
func (o *newOptions) relative() (string, error) {
	text, err := os.ReadFile(filepath.Join(o.checkout, "go.mod"))
	if o.checkout == "" || err != nil || !strings.HasPrefix(string(text), "module github.com/tenuto-dev/tenuto\n") {
		return "", exit.Usagef("--checkout %q: expected the directory with the source of Tenuto and its go.mod", o.checkout)
	}
	name := o.checkout
	if !filepath.IsAbs(name) {
		dir, err := filepath.Abs(o.dir)
		if err != nil {
			return "", err
		}
		if name, err = filepath.Abs(name); err != nil {
			return "", err
		}
		if name, err = filepath.Rel(dir, name); err != nil {
			return "", err
		}
		if name = filepath.ToSlash(name); !strings.HasPrefix(name, "../") {
			name = "./" + name
		}
	}
	if strings.ContainsAny(name, " \t\"'`(),") {
		name = strconv.Quote(name)
	}
	return name, nil
}

// writeNew writes a file that does not exist.
func writeNew(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
