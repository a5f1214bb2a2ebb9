package logging_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// The calls of code that was written for cn-infra, with what they write.
func TestPortedCalls(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := logging.NewRegistry(logging.WithWriter(&out), logging.WithColours(false),
		logging.WithClock(func() time.Time { return time.Unix(0, 0).UTC() }))
	log := r.PluginLogger("helloworld")
	for _, call := range []struct {
		do   func()
		want string
	}{
		{func() { log.Error(errors.New("broken")) }, "ERROR helloworld broken"},
		{func() { log.Warn(7, "apples") }, "WARN helloworld 7 apples"},
		{func() { log.Error(errors.New("broken"), "key", "a") }, `ERROR helloworld broken {"key": "a"}`},
		{func() { log.WithField("key", "a").Info("put") }, `INFO helloworld put {"key": "a"}`},
		{func() { log.WithFields(logging.Fields{"b": 2, "a": 1}).Warnf("%d", 3) }, `WARN helloworld 3 {"a": 1, "b": 2}`},
		{func() { log.Print("a", 1) }, "INFO helloworld a 1"},
		{func() { log.Printf("%q", "a") }, `INFO helloworld "a"`},
		{func() { log.Errorln("a", errors.New("broken")) }, "ERROR helloworld a broken"},
		{func() { log.Infoln("a") }, "INFO helloworld a"},
		{func() { log.Warnln("a") }, "WARN helloworld a"},
		{func() { log.Debugln("a"); log.Debug(errors.New("a")); log.Trace("a"); log.Tracef("a") }, ""},
		{func() { log.NewLogger("part").Error(errors.New("broken")) }, "ERROR helloworld.part broken"},
	} {
		out.Reset()
		call.do()
		if got := strings.TrimSpace(strings.TrimPrefix(out.String(), "1970-01-01 00:00:00.00000 ")); got != call.want {
			t.Errorf("got %q, expected %q", got, call.want)
		}
	}
}

func TestPortedLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := logging.NewRegistry(logging.WithWriter(&out))
	log := r.PluginLogger("helloworld")
	part := log.WithField("key", "a")
	if log.GetLevel() != logging.InfoLevel || log.GetName() != "helloworld" {
		t.Errorf("%s has level %v, expected helloworld with info", log.GetName(), log.GetLevel())
	}
	log.SetLevel(logging.DebugLevel)
	part.Trace("seen")
	log.NewLogger("part").Debug("seen as well")
	log.SetLevel(logging.ErrorLevel)
	log.Warn("hidden")
	if text := out.String(); !strings.Contains(text, "helloworld seen") || !strings.Contains(text, "helloworld.part seen as well") || strings.Contains(text, "hidden") {
		t.Errorf("got %q, expected the entries above the level", text)
	}
	if r.Level("helloworld") != logging.ErrorLevel {
		t.Errorf("the registry has level %v, expected error", r.Level("helloworld"))
	}
	nop := logging.Nop()
	nop.SetLevel(logging.DebugLevel)
	if nop.Error(errors.New("dropped")); nop.Enabled(logging.ErrorLevel) {
		t.Error("a logger that drops entries is enabled")
	}
	var level logging.LogLevel = logging.DefaultLogger.GetLevel()
	if level != logging.InfoLevel {
		t.Errorf("the default logger has level %v, expected info", level)
	}
}

func TestFatalPanics(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(logging.Logger){
		"Fatal": func(l logging.Logger) { l.Fatal("cannot start:", 7) }, "Fatalf": func(l logging.Logger) { l.Fatalf("cannot start: %d", 7) },
		"Panic": func(l logging.Logger) { l.Panic("cannot start:", 7) }, "Panicf": func(l logging.Logger) { l.Panicf("cannot start: %d", 7) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			defer func() {
				if got := recover(); got != "cannot start: 7" || !strings.Contains(out.String(), "ERROR a cannot start: 7") {
					t.Errorf("panicked with %v and logged %q", got, out.String())
				}
			}()
			fail(logging.NewRegistry(logging.WithWriter(&out), logging.WithColours(false)).Logger("a"))
		})
	}
}
