// Package protodoc reads the comments of the schema: what its messages, fields and enum
// values are for. Generated code has none of them at run time.
package protodoc

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/proto"
)

// Comments has the comments of the schema. Of may be called concurrently.
type Comments struct {
	text map[protoreflect.FullName]string
}

// Load parses the .proto files that are part of the program. It takes some
// milliseconds; an error means that the program was built from a damaged schema.
func Load(ctx context.Context) (*Comments, error) {
	var names []string
	err := fs.WalkDir(proto.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	open := &protocompile.SourceResolver{Accessor: func(path string) (io.ReadCloser, error) { return proto.Files.Open(path) }}
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(open), SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := &Comments{text: map[protoreflect.FullName]string{}}
	for _, f := range files {
		c.file(f)
	}
	return c, nil
}

// Add adds the comments of a file that is not part of the program; text is its source.
func (c *Comments) Add(ctx context.Context, file protoreflect.FileDescriptor, text string) error {
	resolve := func(path string) (protocompile.SearchResult, error) {
		if path == file.Path() {
			return protocompile.SearchResult{Source: strings.NewReader(text)}, nil
		}
		if imported := importOf(file, path); imported != nil {
			return protocompile.SearchResult{Desc: imported}, nil
		}
		return protocompile.SearchResult{}, fs.ErrNotExist
	}
	compiler := protocompile.Compiler{Resolver: protocompile.ResolverFunc(resolve), SourceInfoMode: protocompile.SourceInfoStandard}
	files, err := compiler.Compile(ctx, file.Path())
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	c.file(files[0])
	return nil
}

// importOf returns a file that another one imports, directly or not; nil if it does not.
func importOf(file protoreflect.FileDescriptor, path string) protoreflect.FileDescriptor {
	for i := range file.Imports().Len() {
		imported := file.Imports().Get(i).FileDescriptor
		if imported.Path() == path {
			return imported
		}
		if found := importOf(imported, path); found != nil {
			return found
		}
	}
	return nil
}

func (c *Comments) file(f protoreflect.FileDescriptor) {
	c.messages(f.Messages())
	c.enums(f.Enums())
}

// Of returns the comment of a message, field or enum value in one line; empty if it is
// unknown, as for models of other programs before Add.
func (c *Comments) Of(name protoreflect.FullName) string { return c.text[name] }

func (c *Comments) messages(list protoreflect.MessageDescriptors) {
	for i := range list.Len() {
		m := list.Get(i)
		c.add(m)
		for j := range m.Fields().Len() {
			c.add(m.Fields().Get(j))
		}
		c.enums(m.Enums())
		c.messages(m.Messages())
	}
}

func (c *Comments) enums(list protoreflect.EnumDescriptors) {
	for i := range list.Len() {
		c.add(list.Get(i))
		values := list.Get(i).Values()
		for j := range values.Len() {
			c.add(values.Get(j))
		}
	}
}

func (c *Comments) add(d protoreflect.Descriptor) {
	at := d.ParentFile().SourceLocations().ByDescriptor(d)
	text := at.LeadingComments
	if text == "" {
		text = at.TrailingComments
	}
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		c.text[d.FullName()] = text
	}
}
