// Command protogen generates the Go code of .proto files, beside them. It needs Go and nothing
// else, in this module and in all that require it:
//
//	//go:generate go run -mod=mod github.com/tenuto-dev/tenuto/proto/protogen
//
// generates the code of the files in the directory. Their names in descriptors, and by which they
// import each other, begin at the root of the module, or at the directory of -root. They can import
// the schema (ligato/item.proto) and the files that come with protoc.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	schema "github.com/tenuto-dev/tenuto/proto"
)

// The programs that write the code: the first one has the version of its module in go.mod, the
// second one is for files with services.
var (
	messages = []string{"run", "google.golang.org/protobuf/cmd/protoc-gen-go"}
	services = []string{"run", "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2"}
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("protogen", flag.ContinueOnError)
	root := flags.String("root", "", "the `directory` at which names of files begin; default: the root of the module")
	all := flags.Bool("all", false, "generate the code of directories below, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: expected flags only", flags.Arg(0))
	}
	g, err := newGenerator(".", *root, *all)
	if err != nil {
		return err
	}
	code, err := g.generate(ctx)
	if err != nil {
		return err
	}
	return g.write(code)
}

// generator generates code of the files of a directory.
type generator struct {
	root  string   // a directory
	files []string // below root, with slashes
}

func newGenerator(dir, root string, below bool) (*generator, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	g := &generator{}
	switch {
	case root != "":
		g.root, err = filepath.Abs(filepath.Join(dir, root))
	default:
		g.root, err = moduleOf(dir)
	}
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != dir && !below:
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(file) == ".proto":
			name, err := filepath.Rel(g.root, file)
			g.files = append(g.files, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err == nil && len(g.files) == 0 {
		err = fmt.Errorf("found no .proto file in %s", dir)
	}
	return g, err
}

// moduleOf returns the root of the module that a directory belongs to.
func moduleOf(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s: found no go.mod in the directory or above it; expected one, or -root", dir)
		}
	}
}

// open opens a file of the root or of the schema.
func (g *generator) open(name string) (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(g.root, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return schema.Files.Open(name)
	}
	return f, err
}

// generate returns the code by the names of its files, which are below root.
func (g *generator) generate(ctx context.Context) (map[string]string, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: g.open}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(ctx, g.files...)
	if err != nil {
		return nil, err
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: g.files, Parameter: proto.String("paths=source_relative")}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if slices.ContainsFunc(req.ProtoFile, func(known *descriptorpb.FileDescriptorProto) bool { return known.GetName() == f.Path() }) {
			return
		}
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		req.ProtoFile = append(req.ProtoFile, protodesc.ToFileDescriptorProto(f))
	}
	hasServices := false
	for _, f := range compiled {
		add(f)
		hasServices = hasServices || f.Services().Len() > 0
	}
	code := map[string]string{}
	err = g.plugin(ctx, messages, req, code)
	if err == nil && hasServices {
		err = g.plugin(ctx, services, req, code)
	}
	return code, err
}

// release is the line of generated code with the release of protoc.
var release = regexp.MustCompile(`(?m)^//[\s-]*protoc +\(?(v|unknown).*\n`)

// plugin adds to code what a plugin of protoc generates.
func (g *generator) plugin(ctx context.Context, args []string, req *pluginpb.CodeGeneratorRequest, code map[string]string) error {
	in, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = g.root, bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	var answer pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &answer); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	if answer.Error != nil {
		return errors.New(answer.GetError())
	}
	for _, f := range answer.File {
		code[f.GetName()] = release.ReplaceAllString(f.GetContent(), "")
	}
	return nil
}

// write writes the code.
func (g *generator) write(code map[string]string) error {
	for name, text := range code {
		if err := os.WriteFile(filepath.Join(g.root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
