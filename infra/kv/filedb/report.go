package filedb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxLogged is the maximum number of problems of one kind that are logged
// together.
const maxLogged = 20

// once prevents problems from being logged again while they persist.
type once map[string]bool

// first reports whether a problem is new.
func (o *once) first(problem string) bool {
	if (*o)[problem] {
		return false
	}
	if *o == nil {
		*o = once{}
	}
	(*o)[problem] = true
	return true
}

// keep forgets all problems except the present ones.
func (o *once) keep(now []string) {
	for problem := range *o {
		if !slices.Contains(now, problem) {
			delete(*o, problem)
		}
	}
}

// report reports the errors in the files to the log and the health tree.
func (f *follower) report(changed []string, conflicts []conflict) {
	errs := f.reader.errs()
	shown := errs[:min(len(errs), maxLogged)]
	var texts []string
	for _, err := range shown {
		texts = append(texts, err.Error())
		if f.errors.first(err.Error()) {
			f.log.Warn("a file has an error; its previous content stays in effect", "error", err)
		}
	}
	f.errors.keep(texts)
	f.p.refused.Store(byKey(errs))
	if len(errs) > 0 {
		f.p.Health.Degraded(plural(len(errs), "error")+" in files", errors.Join(errs[:min(len(errs), 5)]...))
		return
	}
	f.p.Health.OK(f.summary(conflicts))
	for _, path := range changed {
		if file := f.reader.files[path]; file != nil && file.foreign > 0 {
			f.log.Debug("ignoring entries of other agents", "file", path, "entries", file.foreign)
		}
	}
}

// summary describes what is read, and anything unexpected: paths that do not
// exist, and values that another file overrides.
func (f *follower) summary(conflicts []conflict) string {
	text := plural(len(f.reader.files), "file")
	if missing := f.reader.seen.missing; len(missing) > 0 {
		text += ", missing: " + strings.Join(missing, ", ")
	}
	if len(conflicts) > 0 {
		c := conflicts[0]
		text += fmt.Sprintf(", %s in two files: %s is taken from %s, not from %s", plural(len(conflicts), "key"), c.key, c.winner, c.loser)
	}
	return text
}

// byKey returns the errors by the key of the value that they concern.
func byKey(errs []error) *map[string][]error {
	keyed := map[string][]error{}
	for _, err := range errs {
		if e, ok := err.(interface{ ItemKey() string }); ok && e.ItemKey() != "" {
			keyed[e.ItemKey()] = append(keyed[e.ItemKey()], err)
		}
	}
	return &keyed
}

func (f *follower) reportConflicts(conflicts []conflict) {
	var texts []string
	for _, c := range conflicts[:min(len(conflicts), maxLogged)] {
		text := c.key + " " + c.loser + " " + c.winner
		texts = append(texts, text)
		if f.conflicts.first(text) {
			f.log.Warn("two files have a value for the same key", "key", c.key, "used", c.winner, "ignored", c.loser)
		}
	}
	f.conflicts.keep(texts)
	if n := len(conflicts) - maxLogged; n > 0 {
		f.log.Warn("more keys have values in two files", "keys", n)
	}
}

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
