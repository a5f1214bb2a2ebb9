// Package bolt is the connector to a bbolt file, an embedded key-value store
// that survives the agent. Only one process at a time can open the file, so
// all changes are made through this plugin, and followers get them at once.
//
// Entries are in the bucket "root", unencoded. Since each entry has a key of
// its own, the predecessor's files can be used.
package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/connector"
	"github.com/tenuto-dev/tenuto/infra/kv/follow"
)

// patience is the timeout of a Writer's operation.
const patience = time.Minute

// Plugin is a store in a file.
type Plugin struct{ connector.Base[Config] }

// Deps are the dependencies of the plugin.
type Deps = connector.Deps

// Config is the file bolt.conf. Without that file the plugin is disabled.
type Config struct {
	DbPath           string        `json:"db-path" desc:"path of the file; it is created if it does not exist"`
	FileMode         fs.FileMode   `json:"file-mode" desc:"permissions of a new file, in octal; 432, 384, 436 and 420 are the decimal numbers of the predecessor (0660, 0600, 0664, 0644)"`
	LockTimeout      time.Duration `json:"lock-timeout" desc:"how long to wait at the start while another process has the file open; 0 is without limit"`
	FilterDuplicates bool          `json:"filter-duplicate-notifications" desc:"do not notify followers of a put that does not change the value"`
}

// DefaultConfig returns the defaults of the configuration file.
func DefaultConfig() Config { return Config{FileMode: 0o660, LockTimeout: time.Second} }

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.FileMode&^fs.ModePerm == 0 && c.FileMode&0o600 == 0o600,
		"file-mode: %o: expected permissions that let the owner read and write, such as 0660", uint32(c.FileMode))
	check.Expect(c.LockTimeout >= 0, "lock-timeout: %v: expected a positive duration, or 0 for no limit", c.LockTimeout)
	return check.Err()
}

var _ kv.Connector = (*Plugin)(nil)

// ConfigSpec returns the defaults of bolt.conf.
func (p *Plugin) ConfigSpec() any { return p.Defaults(DefaultConfig()) }

// Init opens the file.
func (p *Plugin) Init() error {
	cfg, enabled, err := p.Configure(DefaultConfig())
	if !enabled {
		return err
	}
	if cfg.DbPath == "" {
		return fmt.Errorf("%s.conf: db-path: expected the path of a file", p)
	}
	path, err := filepath.Abs(cfg.DbPath)
	if err != nil {
		return fmt.Errorf("db-path: %w", err)
	}
	file, revision, err := p.open(path, cfg)
	if err != nil {
		return err
	}
	db := &database{file: file, journal: newJournal(revision), filter: cfg.FilterDuplicates}
	p.Use(connector.Store{DB: db, Session: follow.ListAndWatch(db), Timeout: patience, MaxPause: time.Second, Close: file.Close})
	p.Health.OK(path)
	return nil
}

// lockCheck is how often the wait for the lock checks whether the agent stops.
const lockCheck = time.Second

// open opens the file and returns the revision of its content. Without a timeout it waits until
// the agent stops.
func (p *Plugin) open(path string, cfg Config) (db *bbolt.DB, revision int64, err error) {
	if cfg.LockTimeout > 0 {
		return open(path, cfg)
	}
	cfg.LockTimeout = lockCheck
	for told := false; ; told = true {
		db, revision, err = open(path, cfg)
		if !errors.Is(err, errLocked) || p.Context().Err() != nil {
			return db, revision, err
		}
		if !told {
			p.Log.Warn("another process has the file open; waiting without limit", "path", path, "hint", "set lock-timeout in bolt.conf")
		}
	}
}

var errLocked = errors.New("another process has the file open")

// open opens the file and returns the revision of its content.
func open(path string, cfg Config) (db *bbolt.DB, revision int64, err error) {
	_, missing := os.Stat(path)
	db, err = bbolt.Open(path, cfg.FileMode, &bbolt.Options{Timeout: cfg.LockTimeout, FreelistType: bbolt.FreelistMapType})
	if err == nil {
		if revision, err = prepare(db); err != nil {
			err = errors.Join(err, db.Close())
		}
	}
	switch {
	case err == nil:
		return db, revision, nil
	case errors.Is(err, berrors.ErrTimeout):
		return nil, 0, fmt.Errorf("open %s: %w (waited %v, see lock-timeout)", path, errLocked, cfg.LockTimeout)
	case kv.DiskFull(err):
		if errors.Is(missing, fs.ErrNotExist) {
			_ = os.Remove(path) // an incomplete file, which the next start would report as damaged
		}
		return nil, 0, fmt.Errorf("open the store: %w: free disk space, or set db-path to a file elsewhere", err)
	}
	return nil, 0, fmt.Errorf("open %s: %w", path, err)
}
