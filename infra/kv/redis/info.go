package redis

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// info is what INFO reports about a server.
type info struct {
	run       string // ID of its process
	evicted   int64  // number of keys that the process has evicted
	maxMemory string // in bytes; "0": no limit
	policy    string // which keys it evicts when it has reached its maxmemory
}

// infoOf asks a server. It fails if the server hides the information.
func infoOf(ctx context.Context, c *goredis.Client) (in info, err error) {
	text, err := c.Info(ctx).Result()
	if err != nil {
		return in, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	in = info{run: fields["run_id"], maxMemory: fields["maxmemory"], policy: fields["maxmemory_policy"]}
	if in.run == "" {
		return in, errors.New("no run_id in INFO")
	}
	in.evicted, err = strconv.ParseInt(fields["evicted_keys"], 10, 64)
	return in, err
}

// evicts reports whether the server may remove keys without a request.
func (in info) evicts() bool {
	return in.maxMemory != "" && in.maxMemory != "0" && in.policy != "" && in.policy != "noeviction"
}

// evictsAll reports whether the policy covers keys without a TTL.
func (in info) evictsAll() bool { return strings.HasPrefix(in.policy, "allkeys") }

// identity returns the IDs of the processes of the servers, and the number of keys that they
// have evicted: keys without a TTL may have been among them. It is empty if a server hides
// the information.
func (d *database) identity(ctx context.Context) (id kv.Identity) {
	var mu sync.Mutex
	var runs []string
	err := d.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		in, err := infoOf(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		runs = append(runs, in.run)
		if in.evictsAll() {
			id.Evicted += in.evicted
		}
		return err
	})
	if err != nil {
		d.log.Debug("cannot determine whether the server was restarted, or has evicted keys", "error", err)
		return kv.Identity{}
	}
	slices.Sort(runs)
	id.Run = strings.Join(runs, " ")
	return id
}

// warnOfEviction logs that a server may evict configuration.
func (d *database) warnOfEviction(ctx context.Context, c *goredis.Client) {
	in, err := infoOf(ctx, c)
	if err != nil {
		d.log.Debug("cannot determine whether the server evicts keys", "error", err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	server := c.Options().Addr
	if in.evicts() && d.warned[server] != in.policy {
		d.log.Warn("the server evicts keys when it has reached its maxmemory, also configuration; set its maxmemory-policy to noeviction",
			"server", server, "maxmemory", in.maxMemory, "maxmemory-policy", in.policy)
	}
	d.warned[server] = in.policy
}
