// Package service has the commands that list and call gRPC services.
package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	rpc "google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/reflection"
)

// serviceInfo describes a gRPC service to programs.
type serviceInfo struct {
	Name    string
	File    string
	Methods []methodInfo
}

type methodInfo struct {
	Name   string
	Input  string
	Output string
}

// New returns the command "service".
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.Parent("service", "Show and call the gRPC services of the agent", newList(f), newCall(f))
	cmd.Aliases = []string{"services"}
	return cmd
}

type listOptions struct {
	*cmdutil.Factory
	methods bool
}

func newList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use: "list [SERVICE]", Aliases: []string{"ls", "l"}, Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		Example: "  agentctl service list -m ligato.generic",
		Short:   "List the services, or those whose names contain SERVICE",
		RunE:    o.run,
	})
	cmd.Flags().BoolVarP(&o.methods, "methods", "m", false, "show the methods, too")
	return cmd
}

func (o *listOptions) run(cmd *cobra.Command, args []string) error {
	return o.GRPC.WithConn(cmd.Context(), true, func(ctx context.Context, conn *rpc.ClientConn) error {
		infos, all, err := services(ctx, conn, strings.Join(args, ""))
		if err != nil {
			return err
		}
		if len(infos) == 0 {
			return fmt.Errorf("no service %q%s", args[0], cmdutil.Meant(args[0], all))
		}
		return output.Show(o.Printer, infos, func(infos []serviceInfo) error { return o.printServices(infos, o.methods) })
	})
}

// services returns the services whose names contain a part, and the names of all.
func services(ctx context.Context, conn *rpc.ClientConn, part string) (infos []serviceInfo, all []string, err error) {
	server, err := reflection.New(ctx, conn)
	if err != nil {
		return nil, nil, err
	}
	if all, err = server.Services(); err != nil {
		return nil, nil, err
	}
	for _, name := range all {
		if !strings.Contains(name, part) {
			continue
		}
		s, _, err := server.Service(name)
		if err != nil {
			return nil, nil, err
		}
		info := serviceInfo{Name: name, File: s.ParentFile().Path(), Methods: []methodInfo{}}
		for i := range s.Methods().Len() {
			m := s.Methods().Get(i)
			info.Methods = append(info.Methods, methodInfo{
				string(m.Name()), streamed(m.Input(), m.IsStreamingClient()), streamed(m.Output(), m.IsStreamingServer())})
		}
		infos = append(infos, info)
	}
	return infos, all, nil
}

func streamed(m protoreflect.MessageDescriptor, stream bool) string {
	if stream {
		return "stream " + string(m.FullName())
	}
	return string(m.FullName())
}

func (o *listOptions) printServices(infos []serviceInfo, methods bool) error {
	var b strings.Builder
	for _, s := range infos {
		fmt.Fprintf(&b, "service %s (%s)\n", s.Name, s.File)
		for _, m := range s.Methods {
			if methods {
				fmt.Fprintf(&b, " - rpc %s (%s) returns (%s)\n", m.Name, m.Input, m.Output)
			}
		}
	}
	return o.Print(b.String())
}

type callOptions struct {
	*cmdutil.Factory
}

func newCall(f *cmdutil.Factory) *cobra.Command {
	o := &callOptions{Factory: f}
	return cmdutil.OnTargets(output.Verbatim(f.Formatted(&cobra.Command{
		Use: "call SERVICE METHOD", Aliases: []string{"c"}, Args: cmdutil.Args(cobra.ExactArgs(2)),
		Short: "Call a method with the request on the standard input, in YAML or JSON",
		Long: "Calls a method with the request on the standard input, in YAML or JSON; nothing stands for an\n" +
			"empty one. The answers of a stream are shown until it ends or is interrupted, whatever --timeout.",
		Example: "  agentctl service call ligato.generic.MetaService KnownModels </dev/null",
		RunE:    o.run,
	})), cmdutil.FollowTarget)
}

func (o *callOptions) run(cmd *cobra.Command, args []string) error {
	request, err := requestFrom(cmd.InOrStdin())
	if err != nil {
		return err
	}
	format := cmp.Or(o.Format, "yaml")
	err = o.GRPC.WithConn(cmd.Context(), false, func(ctx context.Context, conn *rpc.ClientConn) error {
		server, err := reflection.New(ctx, conn)
		if err != nil {
			return err
		}
		first := true
		err = server.Call(ctx, args[0], args[1], request, o.Flags.Timeout, func(answer []byte) error {
			if !first && strings.EqualFold(format, "yaml") {
				if err := o.Print("---\n"); err != nil {
					return err
				}
			}
			first = false
			return o.Write(format, json.RawMessage(answer))
		})
		if errors.Is(err, reflection.ErrNotServed) {
			names, _ := server.Services() // the first error says more
			err = fmt.Errorf("%w; 'agentctl service list' has all%s", err, cmdutil.Meant(args[0], names))
		}
		return err
	})
	if errors.Is(cmd.Context().Err(), context.Canceled) {
		return nil // it was interrupted, which is how a stream ends
	}
	return err
}

func requestFrom(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}"), nil
	}
	data, err := output.ParseYAML[any](text)
	if err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	request, err := json.Marshal(data)
	if err != nil {
		err = fmt.Errorf("the request: %w", err)
	}
	return request, err
}
