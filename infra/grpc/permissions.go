package grpc

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// Built-in permissions. Others are the names of services, or of methods as
// service/method.
const (
	permAll     = "all"
	permRead    = "read"    // methods that change nothing
	permSecrets = "secrets" // not a method: replies with secrets
)

// ShowSecretsMetadata is the metadata key of calls that request values with
// their secrets, such as the keys of tunnels; its value is "true". Without it
// services hide secrets.
const ShowSecretsMetadata = "show-secrets"

// ServiceOption is an option of a service.
type ServiceOption func(*service)

// ReadOnly names the methods of a service that change nothing. Users with the
// permission read may call them.
func ReadOnly(methods ...string) ServiceOption {
	return func(s *service) { s.reads = append(s.reads, methods...) }
}

// methods returns the names of all methods of a service.
func methods(desc *rpc.ServiceDesc) (names []string) {
	for _, m := range desc.Methods {
		names = append(names, m.MethodName)
	}
	for _, s := range desc.Streams {
		names = append(names, s.StreamName)
	}
	return names
}

// including returns the permissions that include a method.
func (p *Plugin) including(method string) []string {
	method = strings.TrimPrefix(method, "/")
	name, call, _ := strings.Cut(method, "/")
	including := []string{permAll}
	p.mu.Lock()
	defer p.mu.Unlock()
	reads := slices.Contains(p.services[name].reads, call)
	if reads || strings.HasPrefix(name, "grpc.reflection.") {
		including = append(including, permRead)
	}
	return append(including, name, method)
}

// mayCall rejects a call without permission.
func (p *Plugin) mayCall(a *accounts.Account, method string, header metadata.MD) error {
	including := p.including(method)
	if !slices.ContainsFunc(a.Permissions, func(have string) bool { return slices.Contains(including, have) }) {
		return status.Errorf(codes.PermissionDenied, "user %q may not call %s; permissions that include it: %s (users[].permissions in grpc.conf)",
			a.Name, method, strings.Join(including, ", "))
	}
	if asksForSecrets(header) && !maySeeSecrets(a) {
		return status.Errorf(codes.PermissionDenied, "user %q may not see secrets (metadata %s): that needs the permission %q (users[].permissions in grpc.conf)",
			a.Name, ShowSecretsMetadata, permSecrets)
	}
	return nil
}

func maySeeSecrets(a *accounts.Account) bool {
	return slices.Contains(a.Permissions, permSecrets) || slices.Contains(a.Permissions, permAll)
}

func asksForSecrets(header metadata.MD) bool {
	return slices.ContainsFunc(header.Get(ShowSecretsMetadata), func(v string) bool {
		show, err := strconv.ParseBool(v)
		return show && err == nil
	})
}

type (
	accountKey struct{} // *accounts.Account of the caller, if the server knows users
	secretsKey struct{} // set if the reply may contain secrets
)

// ShowSecrets reports whether the reply to the call with this context contains
// secrets: because the client requested them, or because of show-secrets in
// grpc.conf. If the server knows users, only users with the permission secrets or
// all get them.
func ShowSecrets(ctx context.Context) bool { return ctx.Value(secretsKey{}) != nil }

// withSecrets records in the context of a call whether its reply may contain
// secrets.
func (p *Plugin) withSecrets(ctx context.Context) context.Context {
	header, _ := metadata.FromIncomingContext(ctx)
	show := asksForSecrets(header) // the guard has rejected clients without permission
	if !show && p.cfg.ShowSecrets {
		a, known := ctx.Value(accountKey{}).(*accounts.Account)
		show = !known || maySeeSecrets(a)
	}
	if !show {
		return ctx
	}
	return context.WithValue(ctx, secretsKey{}, true)
}

// warnOfUnknown logs unknown permissions: such a user has fewer rights than
// intended.
func (p *Plugin) warnOfUnknown() {
	known := []string{permAll, permRead, permSecrets}
	p.mu.Lock()
	for name, s := range p.services {
		known = append(known, name)
		for _, m := range methods(s.desc) {
			known = append(known, name+"/"+m)
		}
	}
	p.mu.Unlock()
	slices.Sort(known)
	for _, u := range p.cfg.Users {
		for _, permission := range u.Permissions {
			if !slices.Contains(known, permission) {
				p.Log.Warn("unknown permission in grpc.conf", "user", u.Name, "permission", permission, "known", strings.Join(known, ", "))
			}
		}
	}
}

// isQuery reports whether a method only reads, and has a small request.
func (s service) isQuery(method string) bool {
	return slices.Contains(s.reads, method) && !slices.Contains(s.large, method)
}

// checkReads rejects unknown methods.
func (s service) checkReads() error {
	for _, name := range append(slices.Clone(s.reads), s.large...) {
		if !slices.Contains(methods(s.desc), name) {
			return fmt.Errorf("register service %s: ReadOnly: it has no method %q", s.desc.ServiceName, name)
		}
	}
	return nil
}
