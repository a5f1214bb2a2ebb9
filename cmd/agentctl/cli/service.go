package cli

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
	"gopkg.in/yaml.v3"

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

func (a *app) serviceCommand() *cobra.Command {
	cmd := parent("service", "Show and call the gRPC services of the agent", a.serviceList(), a.serviceCall())
	cmd.Aliases = []string{"services"}
	return cmd
}

func (a *app) serviceList() *cobra.Command {
	var methods bool
	cmd := a.formatted(&cobra.Command{
		Use: "list [SERVICE]", Aliases: []string{"ls", "l"}, Args: args(cobra.MaximumNArgs(1)),
		Short: "List the services, or those whose names contain SERVICE",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConn(cmd.Context(), true, func(ctx context.Context, conn *rpc.ClientConn) error {
				infos, err := services(ctx, conn, strings.Join(args, ""))
				if err != nil {
					return err
				}
				if len(infos) == 0 {
					return fmt.Errorf("no service %q", args[0])
				}
				return show(a, infos, func(infos []serviceInfo) error { return a.printServices(infos, methods) })
			})
		},
	})
	cmd.Flags().BoolVarP(&methods, "methods", "m", false, "show the methods, too")
	return cmd
}

func services(ctx context.Context, conn *rpc.ClientConn, part string) ([]serviceInfo, error) {
	server, err := reflection.New(ctx, conn)
	if err != nil {
		return nil, err
	}
	names, err := server.Services()
	if err != nil {
		return nil, err
	}
	var infos []serviceInfo
	for _, name := range names {
		if !strings.Contains(name, part) {
			continue
		}
		s, _, err := server.Service(name)
		if err != nil {
			return nil, err
		}
		info := serviceInfo{Name: name, File: s.ParentFile().Path(), Methods: []methodInfo{}}
		for i := range s.Methods().Len() {
			m := s.Methods().Get(i)
			info.Methods = append(info.Methods, methodInfo{
				string(m.Name()), streamed(m.Input(), m.IsStreamingClient()), streamed(m.Output(), m.IsStreamingServer())})
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func streamed(m protoreflect.MessageDescriptor, stream bool) string {
	if stream {
		return "stream " + string(m.FullName())
	}
	return string(m.FullName())
}

func (a *app) printServices(infos []serviceInfo, methods bool) error {
	var b strings.Builder
	for _, s := range infos {
		fmt.Fprintf(&b, "service %s (%s)\n", s.Name, s.File)
		for _, m := range s.Methods {
			if methods {
				fmt.Fprintf(&b, " - rpc %s (%s) returns (%s)\n", m.Name, m.Input, m.Output)
			}
		}
	}
	return a.print(b.String())
}

func (a *app) serviceCall() *cobra.Command {
	return verbatim(a.formatted(&cobra.Command{
		Use: "call SERVICE METHOD", Aliases: []string{"c"}, Args: args(cobra.ExactArgs(2)),
		Short: "Call a method with the request on the standard input, in YAML or JSON",
		Long: "Calls a method with the request on the standard input, in YAML or JSON; nothing stands for an\n" +
			"empty one. The answers of a stream are shown until it ends or is interrupted, whatever --timeout.",
		Example: "  agentctl service call ligato.generic.MetaService KnownModels </dev/null",
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := requestFrom(cmd.InOrStdin())
			if err != nil {
				return err
			}
			format := cmp.Or(a.format, "yaml")
			err = a.withConn(cmd.Context(), false, func(ctx context.Context, conn *rpc.ClientConn) error {
				server, err := reflection.New(ctx, conn)
				if err != nil {
					return err
				}
				first := true
				return server.Call(ctx, args[0], args[1], request, a.global.timeout, func(answer []byte) error {
					if !first && strings.EqualFold(format, "yaml") {
						if err := a.print("---\n"); err != nil {
							return err
						}
					}
					first = false
					return a.write(format, json.RawMessage(answer))
				})
			})
			switch {
			case errors.Is(cmd.Context().Err(), context.Canceled):
				return nil // it was interrupted, which is how a stream ends
			case errors.Is(err, reflection.ErrNotServed):
				return fmt.Errorf("%w; 'agentctl service list' has all", err)
			}
			return err
		},
	}))
}

func requestFrom(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}"), nil
	}
	var data any
	if err := yaml.Unmarshal(text, &data); err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	request, err := json.Marshal(data)
	if err != nil {
		err = fmt.Errorf("the request: %w", err)
	}
	return request, err
}
