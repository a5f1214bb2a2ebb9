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

// report reports the errors in the files, and the conflicts between them, to the
// log and the health tree.
func (f *follower) report(changed []string, conflicts []conflict) {
	errs := f.reader.errs()
	f.logNew(&f.errors, "a file has an error; its previous content stays in effect", errs)
	disputes := make([]error, len(conflicts))
	for i, c := range conflicts {
		disputes[i] = c
	}
	f.logNew(&f.conflicts, "files have different values for the same key", disputes)
	var texts []string
	if len(errs) > 0 {
		texts = append(texts, plural(len(errs), "error")+" in files")
	}
	if len(disputes) > 0 {
		texts = append(texts, plural(len(disputes), "key")+" with different values in several files")
	}
	all := slices.Concat(errs, disputes)
	f.p.refused.Store(byKey(all))
	if len(all) > 0 {
		f.p.Health.Degraded(strings.Join(texts, ", "), errors.Join(slices.Concat(errs[:min(len(errs), 5)], disputes[:min(len(disputes), 5)])...))
		return
	}
	f.p.Health.OK(f.summary())
	for _, path := range changed {
		if file := f.reader.files[path]; file != nil && file.foreign > 0 {
			f.log.Debug("ignoring entries of other agents", "file", path, "entries", file.foreign)
		}
	}
}

// logNew logs the problems that were not logged before, up to a limit.
func (f *follower) logNew(logged *once, message string, problems []error) {
	var texts []string
	for _, err := range problems[:min(len(problems), maxLogged)] {
		texts = append(texts, err.Error())
		if logged.first(err.Error()) {
			f.log.Warn(message, "error", err)
		}
	}
	logged.keep(texts)
}

// summary describes what is read, and the paths that do not exist.
func (f *follower) summary() string {
	text := plural(len(f.reader.files), "file")
	if missing := f.reader.seen.missing; len(missing) > 0 {
		text += ", missing: " + strings.Join(missing, ", ")
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

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
