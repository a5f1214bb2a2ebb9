package logging

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Default is the name of the level of all loggers that no rule matches.
const Default = "default"

// Registry creates the loggers of one agent and keeps their levels, which can
// be changed at any time. All methods may be called concurrently.
//
// The level of a logger is the first of these that is set: its own level, the
// level of the last pattern that matches its name, the levels of its parents
// ("vpp-ifplugin" for "vpp-ifplugin.if-descriptor"), the default.
type Registry struct {
	core  zapcore.Core
	clock clock
	hooks *hooks

	mu      sync.Mutex
	def     Level
	forced  bool
	exact   map[string]Level
	rules   []LoggerLevel // patterns, in the order they were set
	loggers map[string]entry
}

type entry struct {
	level zap.AtomicLevel
	z     *zap.Logger
}

// LoggerLevel is the level of one logger, or of all that match a pattern.
type LoggerLevel struct {
	Logger string `json:"logger"`
	Level  Level  `json:"level"`
}

// Encoding is the format of written entries.
type Encoding string

// The encodings: Console for terminals, JSON with one object per line.
const (
	Console Encoding = "console"
	JSON    Encoding = "json"
)

type settings struct {
	out      io.Writer
	encoding Encoding
	colours  *bool
	level    Level
	forced   bool
	now      func() time.Time
}

// Option is a setting of a Registry.
type Option func(*settings)

// WithWriter sets the destination of entries (default: standard error). Writes
// are serialised.
func WithWriter(w io.Writer) Option { return func(s *settings) { s.out = w } }

// WithEncoding sets the format of entries (default: Console).
func WithEncoding(e Encoding) Option { return func(s *settings) { s.encoding = e } }

// WithColours turns the colours of the console encoding on or off (default: on
// when the writer is a terminal).
func WithColours(on bool) Option { return func(s *settings) { s.colours = &on } }

// WithLevel sets the default level (default: info).
func WithLevel(l Level) Option { return func(s *settings) { s.level = l } }

// WithForcedLevel sets a default level that Configure does not change, for a
// level given on the command line or in the environment.
func WithForcedLevel(l Level) Option { return func(s *settings) { s.level, s.forced = l, true } }

// WithClock sets the source of timestamps (default: time.Now).
func WithClock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// NewRegistry returns a registry without loggers.
func NewRegistry(opts ...Option) *Registry {
	s := settings{out: os.Stderr, encoding: Console, level: InfoLevel, now: time.Now}
	for _, o := range opts {
		o(&s)
	}
	h := &hooks{}
	return &Registry{
		core:    newCore(s, h),
		clock:   s.now,
		hooks:   h,
		def:     s.level,
		forced:  s.forced,
		exact:   map[string]Level{},
		loggers: map[string]entry{},
	}
}

// ForPlugin returns the logger of a plugin that runs without an agent: it
// writes to standard error at the info level and belongs to a registry of its
// own.
func ForPlugin(name string) PluginLogger { return NewRegistry().PluginLogger(name) }

// Logger returns the logger of the given name. Loggers of the same name share
// their level.
func (r *Registry) Logger(name string) Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.loggers[name]
	if !ok {
		level := zap.NewAtomicLevelAt(r.levelOf(name).zap())
		e = entry{level, zap.New(r.core, zap.IncreaseLevel(level), zap.WithClock(r.clock)).Named(name)}
		r.loggers[name] = e
	}
	return logger{z: e.z, name: name, registry: r}
}

// PluginLogger returns the logger of a plugin.
func (r *Registry) PluginLogger(name string) PluginLogger {
	return pluginLogger{Logger: r.Logger(name), name: name, registry: r}
}

// SetLevel sets the level of a logger, of all loggers that match a pattern
// ("vpp-*", in the syntax of path.Match), or of Default. It also applies to
// loggers created later.
func (r *Registry) SetLevel(name string, level Level) error {
	pattern := IsPattern(name)
	if pattern {
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Errorf("logger name pattern %q: %w", name, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(name, level, pattern)
	r.refresh()
	return nil
}

// setOwn sets the level of one logger and of its parts without levels of their own.
func (r *Registry) setOwn(name string, level Level) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exact[name] = level
	r.refresh()
}

// IsPattern reports whether SetLevel treats the name as a pattern.
func IsPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

func (r *Registry) set(name string, level Level, pattern bool) {
	switch {
	case name == Default:
		r.def = level
	case pattern:
		r.rules = slices.DeleteFunc(r.rules, func(l LoggerLevel) bool { return l.Logger == name })
		r.rules = append(r.rules, LoggerLevel{name, level})
		for own := range r.exact { // the pattern overrides earlier levels
			if ok, _ := path.Match(name, own); ok {
				delete(r.exact, own)
			}
		}
	default:
		r.exact[name] = level
	}
}

// Configure applies the levels of a configuration file: the default level,
// unless it was forced, and the levels of loggers or patterns.
func (r *Registry) Configure(def Level, levels []LoggerLevel) error {
	r.mu.Lock()
	forced := r.forced
	r.mu.Unlock()
	if !forced {
		levels = append([]LoggerLevel{{Default, def}}, levels...)
	}
	for _, l := range levels {
		if err := r.SetLevel(l.Logger, l.Level); err != nil {
			return err
		}
	}
	return nil
}

// Levels returns the loggers created so far with their levels, sorted by name;
// the first one is Default.
func (r *Registry) Levels() []LoggerLevel {
	r.mu.Lock()
	defer r.mu.Unlock()
	levels := make([]LoggerLevel, 0, len(r.loggers)+1)
	for name, e := range r.loggers {
		levels = append(levels, LoggerLevel{name, Level(e.level.Level())})
	}
	slices.SortFunc(levels, func(a, b LoggerLevel) int { return strings.Compare(a.Logger, b.Logger) })
	return slices.Insert(levels, 0, LoggerLevel{Default, r.def})
}

// Level returns the level of the logger, or the level it would get.
func (r *Registry) Level(name string) Level {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.levelOf(name)
}

// Known reports whether a logger of the name was created.
func (r *Registry) Known(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.loggers[name]
	return ok || name == Default
}

func (r *Registry) refresh() {
	for name, e := range r.loggers {
		e.level.SetLevel(r.levelOf(name).zap())
	}
}

func (r *Registry) levelOf(name string) Level {
	if name == Default {
		return r.def
	}
	for {
		if l, ok := r.exact[name]; ok {
			return l
		}
		for _, rule := range slices.Backward(r.rules) {
			if ok, _ := path.Match(rule.Logger, name); ok {
				return rule.Level
			}
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return r.def
		}
		name = name[:dot]
	}
}
