// Package descriptor teaches the scheduler proxies between ports and Unix sockets.
//
// A proxy lives in the process of the agent: what a retrieval finds are the proxies of this
// process, so that a restarted agent creates all of them. A socket keeps its network namespace
// alive; if another process has deleted the namespace, the retrieval stops the proxies in it.
package descriptor

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/internal/proxy"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
)

// Name is the name of the descriptor.
const Name = "linux-punt-proxy"

// Deps is what the descriptor needs.
type Deps struct {
	// Namespaces opens network namespaces.
	Namespaces Namespaces
	// Running has the proxies.
	Running *Running
	// Settings apply to all proxies; Log is the descriptor's logger.
	Settings proxy.Settings
	Log      logging.Logger
}

// Namespaces opens network namespaces; see nsplugin.API.
type Namespaces interface {
	Open(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	Ensure(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	Peek(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
}

type proxies struct{ Deps }

type proxyKV = api.KV[*punt.Proxy, any]

// New returns the descriptor linux-punt-proxy.
func New(deps Deps) *api.KVDescriptor {
	d := proxies{deps}
	return api.Adapt(api.Describe(model.ProxyModel, api.Descriptor[*punt.Proxy, any]{
		Name:       Name,
		Southbound: nsmodel.Southbound,
		ValueComparator: func(_ string, a, b *punt.Proxy) bool {
			return a.GetName() == b.GetName() && sameSide(rx(a), rx(b)) && sameSide(tx(a), tx(b))
		},
		Validate:             func(_ string, v *punt.Proxy) error { return validate(v) },
		Dependencies:         dependencies,
		UpdateWithRecreate:   func(_ string, a, b *punt.Proxy, _ any) bool { return !sameSide(rx(a), rx(b)) },
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        func(_ context.Context, key string, _ *punt.Proxy, _ any) error { d.Running.stop(key); return nil },
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{nsmodel.MicroserviceDescriptor},
	}))
}

func dependencies(_ string, v *punt.Proxy) []api.Dependency {
	deps := nsmodel.Dependencies(v.GetRxPort().GetNamespace())
	if to := v.GetTxPort().GetNamespace(); !nsmodel.Equal(to, v.GetRxPort().GetNamespace()) {
		for _, dep := range nsmodel.Dependencies(to) {
			dep.Label += "-tx"
			deps = append(deps, dep)
		}
	}
	return deps
}

func (d proxies) create(ctx context.Context, key string, v *punt.Proxy) (any, error) {
	h, err := d.Namespaces.Ensure(ctx, rx(v).namespace)
	if err != nil {
		return nil, err
	}
	defer closeHandle(h)
	from := rx(v)
	settings := d.Settings
	settings.Log = d.Log.With("proxy", v.GetName())
	r := &running{value: proto.CloneOf(v), namespace: h.Namespace()}
	if from.datagrams {
		socket, err := h.ListenPacket(ctx, from.network(), from.address())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from.field, err)
		}
		r.path, _ = socket.(netlinkapi.PathSocket)
		r.Proxy = proxy.Datagrams(socket, d.dial(v), settings)
	} else {
		socket, err := h.Listen(ctx, from.network(), from.address())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from.field, err)
		}
		r.path, _ = socket.(netlinkapi.PathSocket)
		r.Proxy = proxy.Connections(socket, d.dial(v), settings)
	}
	return nil, d.Running.start(key, r)
}

// update sends what comes in to another place.
func (d proxies) update(_ context.Context, key string, _, v *punt.Proxy, _ any) (any, error) {
	r := d.Running.get(key)
	if r == nil {
		return nil, fmt.Errorf("the proxy %w", netlinkapi.ErrNotFound)
	}
	r.Redirect(d.dial(v))
	d.Running.set(key, v)
	return nil, nil
}

// retrieve returns the proxies of this process whose sockets clients can still reach.
func (d proxies) retrieve(ctx context.Context, _ []proxyKV) ([]proxyKV, error) {
	var found []proxyKV
	for key, r := range d.Running.all() {
		lost, err := d.lost(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.value.GetName(), err)
		}
		if lost {
			d.Running.stop(key)
			continue
		}
		found = append(found, proxyKV{Key: key, Value: r.value, Origin: api.FromNB})
	}
	return found, nil
}

// lost reports whether the proxy has lost its namespace or the path of a socket.
func (d proxies) lost(ctx context.Context, r *running) (bool, error) {
	if r.path != nil {
		return !r.path.HasPath(), nil
	}
	from := rx(r.value)
	if nsmodel.IsOwn(from.namespace) {
		return false, nil
	}
	h, err := d.Namespaces.Peek(ctx, from.namespace)
	if err != nil {
		return netlinkapi.IsGone(err), ignoreGone(err)
	}
	defer closeHandle(h)
	return h.Namespace() != r.namespace, nil
}

func ignoreGone(err error) error {
	if netlinkapi.IsGone(err) {
		return nil
	}
	return err
}

// closeHandle ends a lease; that cannot fail in a way that matters here.
func closeHandle(h netlinkapi.Handle) { _ = h.Close() }
