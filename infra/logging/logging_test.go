package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC) }

func newRegistry(opts ...logging.Option) (*logging.Registry, *bytes.Buffer) {
	var b bytes.Buffer
	all := append([]logging.Option{logging.WithWriter(&b), logging.WithClock(clock)}, opts...)
	return logging.NewRegistry(all...), &b
}

func TestConsole(t *testing.T) {
	t.Parallel()
	r, out := newRegistry()
	log := r.PluginLogger("vpp-ifplugin")
	log.Info("route added", "key", "config/route", "took", 1500*time.Microsecond, "n", 3, "ok", true)
	log.Warn("two words", "text", "a b", "quote", `"`, "empty", "", "err", errors.New("no such thing"), "list", []string{"a", "b"})
	log.With("txn", 7).Error("failed", "map", map[string]int{"a": 1})
	log.NewLogger("if-handler").Infof("%d percent", 50)
	log.Println("a", 1)
	log.Debug("not shown")
	log.Error("x:", errors.New("no such thing")) // as the documents of the predecessor have it
	log.Info("bad pairs", "alone")
	log.Info("bad keys", 5, "k", "v")
	log.With("alone").Info("of With")
	log.Info("escape \x1b[31m and\nbreak", "bell", "\a")
	const want = `2026-01-02 03:04:05.67890 INFO vpp-ifplugin route added {"key": "config/route", "took": "1.5ms", "n": 3, "ok": true}
2026-01-02 03:04:05.67890 WARN vpp-ifplugin two words {"text": "a b", "quote": "\"", "empty": "", "err": "no such thing", "list": ["a", "b"]}
2026-01-02 03:04:05.67890 ERROR vpp-ifplugin failed {"txn": 7, "map": {"a":1}}
2026-01-02 03:04:05.67890 INFO vpp-ifplugin.if-handler 50 percent
2026-01-02 03:04:05.67890 INFO vpp-ifplugin a 1
2026-01-02 03:04:05.67890 ERROR vpp-ifplugin x: no such thing
2026-01-02 03:04:05.67890 INFO vpp-ifplugin bad pairs alone
2026-01-02 03:04:05.67890 INFO vpp-ifplugin bad keys 5 k v
2026-01-02 03:04:05.67890 INFO vpp-ifplugin of With {"!BADKEY": "alone"}
2026-01-02 03:04:05.67890 INFO vpp-ifplugin escape '\x1b'[31m and
break {"bell": "\u0007"}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	r, out := newRegistry(logging.WithColours(true))
	r.Logger("l").Error("m", "k", "v")
	want := "2026-01-02 03:04:05.67890 \x1b[31mERROR\x1b[0m l m {\"k\": \"v\"}\n"
	if out.String() != want {
		t.Errorf("got %q", out)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	r, out := newRegistry(logging.WithEncoding(logging.JSON))
	r.Logger("l").With("a", 1).Info("m", "d", time.Second, "err", errors.New("e"))
	var got map[string]any
	infratest.Fatal(t, json.Unmarshal(out.Bytes(), &got))
	for k, want := range map[string]any{
		"logger": "l", "level": "info", "msg": "m", "a": 1.0, "d": "1s", "err": "e", "time": "2026-01-02T03:04:05.6789Z",
	} {
		if got[k] != want {
			t.Errorf("%s: got %v, want %v", k, got[k], want)
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	r, _ := newRegistry()
	early := r.Logger("vpp-ifplugin.if-descriptor")
	set := func(name string, l logging.Level) {
		t.Helper()
		infratest.Fatal(t, r.SetLevel(name, l))
	}
	expect := func(name string, want logging.Level) {
		t.Helper()
		if got := r.Level(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	expect("anything", logging.InfoLevel)
	set("vpp-ifplugin", logging.DebugLevel) // a plugin with its parts, also those made before
	if !early.Enabled(logging.DebugLevel) || !early.With("k", 1).Enabled(logging.DebugLevel) {
		t.Error("the level of a plugin does not reach its parts")
	}
	set("vpp-*", logging.ErrorLevel) // the newer word counts
	expect("vpp-ifplugin", logging.ErrorLevel)
	expect("vpp-l2plugin", logging.ErrorLevel)
	expect("linux-ifplugin", logging.InfoLevel)
	set("vpp-ifplugin", logging.WarnLevel)
	expect("vpp-ifplugin", logging.WarnLevel)
	set(logging.Default, logging.DebugLevel)
	expect("linux-ifplugin", logging.DebugLevel)
	expect("vpp-l2plugin", logging.ErrorLevel)
	if !r.Logger("made-later").Enabled(logging.DebugLevel) {
		t.Error("the default does not reach loggers made later")
	}
	if err := r.SetLevel("[", logging.InfoLevel); err == nil {
		t.Error("a malformed pattern is no error")
	}
	names := ""
	for _, l := range r.Levels() {
		names += l.Logger + "=" + l.Level.String() + " "
	}
	if want := "default=debug made-later=debug vpp-ifplugin.if-descriptor=error "; names != want {
		t.Errorf("list: got %q, want %q", names, want)
	}
}

func TestForcedLevelWinsOverTheFile(t *testing.T) {
	t.Parallel()
	for forced, want := range map[bool]logging.Level{true: logging.DebugLevel, false: logging.ErrorLevel} {
		option := logging.WithLevel(logging.DebugLevel)
		if forced {
			option = logging.WithForcedLevel(logging.DebugLevel)
		}
		r, _ := newRegistry(option)
		err := r.Configure(logging.ErrorLevel, []logging.LoggerLevel{{Logger: "a", Level: logging.WarnLevel}})
		if err != nil || r.Level("b") != want || r.Level("a") != logging.WarnLevel {
			t.Errorf("forced %v: %v, default %v", forced, err, r.Level("b"))
		}
	}
}

func TestParseLevel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]logging.Level{
		"debug": logging.DebugLevel, "TRACE": logging.DebugLevel, "Info": logging.InfoLevel, "warning": logging.WarnLevel,
		"warn": logging.WarnLevel, "error": logging.ErrorLevel, "fatal": logging.ErrorLevel, "panic": logging.ErrorLevel,
	} {
		var got logging.Level
		if err := got.UnmarshalText([]byte(name)); err != nil || got != want {
			t.Errorf("%s: got %v %v", name, got, err)
		}
	}
	if _, err := logging.ParseLevel("loud"); err == nil || !strings.Contains(err.Error(), `"loud": expected debug, info, warn or error`) {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r, out := newRegistry()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			log := r.PluginLogger("p").NewLogger("part")
			for range 50 {
				log.Info("m")
				_ = r.SetLevel("p", logging.InfoLevel)
				r.Levels()
			}
		})
	}
	wg.Wait()
	if n := strings.Count(out.String(), "\n"); n != 200 {
		t.Errorf("%d lines", n)
	}
}

func TestStdLog(t *testing.T) {
	t.Parallel()
	r, out := newRegistry()
	logging.StdLog(r.Logger("lib")).Printf("TLS handshake error from %s", "::1")
	if want := "2026-01-02 03:04:05.67890 WARN lib TLS handshake error from ::1\n"; out.String() != want {
		t.Errorf("got %s", out)
	}
}

// login is a message type with secrets, made at run time.
func login(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &kind,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	}
	text, blob := descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_BYTES
	pin := field("pin", 3, descriptorpb.FieldDescriptorProto_TYPE_INT32)
	pin.Options = &descriptorpb.FieldOptions{DebugRedact: proto.Bool(true)}
	nested := field("nested", 4, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE)
	nested.TypeName = proto.String(".t.Login")
	many := proto.Clone(nested).(*descriptorpb.FieldDescriptorProto)
	many.Name, many.Number, many.Label = proto.String("many"), proto.Int32(5), descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	packed := field("packed", 7, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE)
	packed.TypeName = proto.String(".google.protobuf.Any")
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/any.proto"},
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Login"), Field: []*descriptorpb.FieldDescriptorProto{
			field("user", 1, text), field("private_key", 2, text), pin, nested, many, field("key", 6, blob), packed,
		}}},
	}, protoregistry.GlobalFiles)
	infratest.Fatal(t, err)
	return file.Messages().Get(0)
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	d := login(t)
	fill := func() *dynamicpb.Message {
		m := dynamicpb.NewMessage(d)
		set := func(name string, v any) {
			m.Set(d.Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOf(v))
		}
		set("user", "me")
		set("private_key", "geheim")
		set("pin", int32(4711))
		set("key", []byte("geheim"))
		return m
	}
	m := fill()
	m.Set(d.Fields().ByName("nested"), protoreflect.ValueOfMessage(fill()))
	m.Mutable(d.Fields().ByName("many")).List().Append(protoreflect.ValueOfMessage(fill()))
	packed := m.Mutable(d.Fields().ByName("packed")).Message()
	packed.Set(packed.Descriptor().Fields().ByName("value"), protoreflect.ValueOfBytes([]byte("geheim")))

	r, out := newRegistry()
	r.Logger("l").Info("m", "value", m)
	if s := out.String(); strings.Contains(s, "geheim") || strings.Contains(s, "4711") || strings.Count(s, "me") < 3 {
		t.Errorf("got %s", s)
	}
	if got := m.Get(d.Fields().ByName("private_key")).String(); got != "geheim" {
		t.Errorf("the message itself was changed to %q", got)
	}
}

func TestMessagesAreWrittenAsText(t *testing.T) {
	t.Parallel()
	r, out := newRegistry()
	r.Logger("l").Info("m", "value", wrapperspb.String("x"), "none", (*wrapperspb.StringValue)(nil))
	if got := strings.ReplaceAll(out.String(), ":  ", ":"); !strings.HasSuffix(got, ` {"value": "value:\"x\"", "none": "<nil>"}`+"\n") {
		t.Errorf("got %s", out)
	}
}

// countingStringer counts how often it is formatted.
type countingStringer struct{ count *int }

func (s countingStringer) String() string {
	*s.count++
	return "text"
}

// TestDisabledLevelFormatsNothing checks that a message below the level of its logger
// costs no formatting.
func TestDisabledLevelFormatsNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logging.NewRegistry(logging.WithWriter(&out), logging.WithLevel(logging.InfoLevel)).Logger("agent")
	count := 0
	value := countingStringer{&count}
	log.Debug("message", "value", value)
	log.Debug("without pairs:", value)
	log.Debugf("formatted %v", value)
	if count > 0 || out.Len() > 0 {
		t.Errorf("values were formatted %d times for a disabled level; written: %q", count, out.String())
	}
	log.Info("message", "value", value)
	if count == 0 {
		t.Error("the value was not formatted for an enabled level")
	}
}
