// Package guard decides whether the content of a store is followed, or is probably the
// result of an accident: a store that was emptied or restored, a volume that is not mounted.
package guard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// few is the number of items up to which only the deletion of all of them exceeds a limit
// in percent.
const few = 20

// Limit is how many items of a store an accident may delete. The deletion of all items
// always exceeds it, except if the Limit is off.
type Limit struct {
	off     bool
	all     bool // only the deletion of all items
	percent int
	number  int // 0: percent counts
}

// Default is half of more than 20 items.
const Default = "50%"

// ParseLimit reads a limit: "off", "all", a share ("50%"), or a number of items.
func ParseLimit(text string) (l Limit, err error) {
	switch percent, isShare := strings.CutSuffix(text, "%"); {
	case text == "off":
		l.off = true
	case text == "all":
		l.all = true
	case isShare:
		l.percent, err = strconv.Atoi(percent)
		if err == nil && (l.percent < 1 || l.percent > 100) {
			err = strconv.ErrRange
		}
	default:
		l.number, err = strconv.Atoi(text)
		if err == nil && l.number < 1 {
			err = strconv.ErrRange
		}
	}
	if err != nil {
		return l, fmt.Errorf("%q: expected off, all, a share such as 50%%, or a number of items from 1 on", text)
	}
	return l, nil
}

// Off reports whether all content is followed.
func (l Limit) Off() bool { return l.off }

// exceeded reports whether the deletion of some of the items exceeds the limit.
func (l Limit) exceeded(deleted, items int) bool {
	switch {
	case deleted == 0:
		return false
	case deleted >= items:
		return true
	case l.all:
		return false
	case l.number > 0:
		return deleted > l.number
	}
	return items > few && deleted*100 >= items*l.percent
}

// Case is the content of a store, compared with that in effect.
type Case struct {
	Before, Now kv.Identity
	Items       int  // number of items in effect; without those that the store requests to delete
	Deleted     int  // items that the store no longer has
	Changed     int  // items with another value
	Added       int  // items that are not in effect
	Empty       bool // the store has no items at all
	// Lost are the doubtful places that deleted items came from, with the reasons.
	Lost map[string]string
}

// Judge returns why the content must not be followed; empty if it may.
func Judge(l Limit, c Case) string {
	if l.off || c.Deleted+c.Changed == 0 {
		return ""
	}
	switch {
	case c.Before.Other(c.Now):
		return fmt.Sprintf("this is another store (%s, before %s); %s", c.Now.Store, c.Before.Store, c.effect())
	case c.Before.WentBack(c.Now):
		return fmt.Sprintf("the store went back from %d to %d; %s", c.Before.Revision, c.Now.Revision, c.effect())
	case c.Deleted == 0:
		return ""
	case c.Before.Restarted(c.Now):
		return "the server was restarted or is another one, and has lost items; " + c.effect()
	case c.Before.HasEvicted(c.Now):
		return "the server evicted items to free memory (set its maxmemory-policy to noeviction); " + c.effect()
	case len(c.Lost) > 0:
		return describe(c.Lost) + "; " + c.effect()
	case !l.exceeded(c.Deleted, c.Items):
		return ""
	case c.Empty:
		return "the store is empty; " + c.effect()
	}
	return "the store has lost items; " + c.effect()
}

func (c Case) effect() string {
	var parts []string
	if c.Deleted > 0 {
		parts = append(parts, fmt.Sprintf("delete %d of %d items", c.Deleted, c.Items))
	}
	if c.Changed > 0 {
		parts = append(parts, fmt.Sprintf("change %d", c.Changed))
		if c.Deleted == 0 {
			parts[0] += fmt.Sprintf(" of %d items", c.Items)
		}
	}
	return "its content would " + strings.Join(parts, " and ")
}

// maxNamed is the number of places that a message names.
const maxNamed = 3

func describe(lost map[string]string) string {
	var texts []string
	for place, reason := range lost {
		texts = append(texts, place+": "+reason)
	}
	slices.Sort(texts)
	if n := len(texts) - maxNamed; n > 0 {
		texts = append(texts[:maxNamed], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(texts, ", ")
}
