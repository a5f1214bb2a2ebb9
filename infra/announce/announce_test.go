package announce_test

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/announce"
	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a data store in memory, on servers.
type store struct {
	*kvtest.Memory
	servers []string
}

func newStore(servers ...string) *store { return &store{kvtest.NewMemory(), servers} }

func (s *store) Servers() []string { return s.servers }

func (s *store) Put(key string, value proto.Message, opts ...kv.PutOption) error {
	if !kv.CollectPut(opts).ClientLifetime {
		return errors.New("expected an entry with the lifetime of the agent")
	}
	return s.Memory.Put(key, value, opts...)
}

// await waits until the agent has published this.
func (s *store) await(t *testing.T, want string) {
	t.Helper()
	s.AwaitText(t, func(values map[string]proto.Message) string {
		text, err := protojson.Marshal(values["/me/"+announced.AgentKey])
		if err != nil {
			return err.Error()
		}
		return strings.ReplaceAll(string(text), " ", "")
	}, want)
}

// fileStore is a data store without servers.
type fileStore struct{ publish.Store }

func (fileStore) String() string { return "files" }
func (fileStore) Disabled() bool { return false }

// server is a server that listens on an address.
type server struct {
	rest.HTTPHandlers
	addr net.Addr
	tls  bool
	at   string // path of the endpoint
	// hosts are the names that it is to allow.
	hosts []string
}

func (s *server) Addr() net.Addr { return s.addr }
func (s *server) TLS() bool      { return s.tls }

func (s *server) Register(_ string, endpoints ...rest.Endpoint) error {
	s.at = endpoints[0].Path
	return nil
}

func (s *server) AllowHosts(names ...string) { s.hosts = append(s.hosts, names...) }

func (s *server) GetAgentPrefix() string { return "/me/" }

func (s *server) Identity() holder.Identity {
	return holder.Identity{Label: "me", Instance: "c0ffee", Host: "box"}
}

func tcp(ip string, port int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: port} }

func newPlugin(http, grpc *server, conf string, stores ...publish.Store) *announce.Plugin {
	p := &announce.Plugin{Deps: announce.Deps{HTTP: http, GRPC: grpc, Label: http, Identity: http, Stores: stores}}
	p.Cfg = config.Text("announce", conf)
	return p
}

func TestPublishedAddresses(t *testing.T) {
	t.Parallel()
	const me = `{"label":"me","instance":"c0ffee","program":"test","version":"v1","host":"box"`
	socket := &net.UnixAddr{Name: "/run/agent.sock", Net: "unix"}
	for name, test := range map[string]struct {
		http, grpc server
		conf       string
		want       string
	}{
		"the addresses that the servers listen on": {server{addr: tcp("192.0.2.1", 9191), tls: true}, server{addr: tcp("2001:db8::1", 9111)}, "",
			me + `,"http":{"address":"192.0.2.1:9191","tls":true},"grpc":{"address":"[2001:db8::1]:9111"}}`},
		"of this host towards the store": {server{addr: tcp("::", 9191)}, server{addr: tcp("0.0.0.0", 9111)}, "",
			me + `,"http":{"address":"127.0.0.1:9191"},"grpc":{"address":"127.0.0.1:9111"}}`},
		"as configured": {server{addr: tcp("::", 9191)}, server{addr: tcp("::", 9111)}, "http-endpoint: agent.example:443\ngrpc-endpoint: '2001:db8::7'",
			me + `,"http":{"address":"agent.example:443"},"grpc":{"address":"[2001:db8::7]:9111"}}`},
		"a server on a socket or that does not listen": {server{addr: socket}, server{}, "http-endpoint: agent.example", me + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore("[", "127.0.0.1:2379") // the first one cannot be reached
			p := newPlugin(&test.http, &test.grpc, test.conf, s, fileStore{})
			a := agenttest.New(t, agent.AllPlugins(p), agent.Name("test"), agent.Version("v1", "", ""))
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.await(t, test.want)
			if test.http.at != announced.AgentPath {
				t.Errorf("the identity is at %q", test.http.at)
			}
			hosts := []string{"me"}
			if strings.Contains(test.conf, "agent.example") {
				hosts = append(hosts, "agent.example")
			}
			if !slices.Equal(test.http.hosts, hosts) {
				t.Errorf("the HTTP server allows the names %q, expected %q", test.http.hosts, hosts)
			}
		})
	}
}

func TestConfigIsDescribed(t *testing.T) {
	t.Parallel()
	if err := config.Lint(announce.Config{}); err != nil {
		t.Error(err)
	}
}

func TestStores(t *testing.T) {
	t.Parallel()
	listens := func() *server { return &server{addr: tcp("127.0.0.1", 1)} }
	for conf, want := range map[string]string{
		"stores: [files]":                     "files has no servers",
		"stores: [fiels]":                     "fiels",
		"http-endpoint: 'a:b:c'":              "http-endpoint",
		"grpc-endpoint: 'host:99999'":         "grpc-endpoint",
		"grpc-endpoint: ':9111'":              "expected host or host:port",
		"http-endpiont: agent.example":        "http-endpoint",
		"stores: [memory]\nhttp-endpoint: ''": "",
		"stores: []":                          "",
	} {
		s := newStore("127.0.0.1:2379")
		a := agenttest.New(t, agent.AllPlugins(newPlugin(listens(), listens(), conf, s, fileStore{})))
		err := a.Start(t.Context())
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, expected %q", conf, err, want)
		}
	}
}
