package control

// completeName is what the journal keeps the names of the descriptors under whose
// record is complete.
const completeName = "complete"

// openComplete brings back which records are complete.
func (c *Control) openComplete() {
	c.keeper.complete = map[string]bool{}
	names, err := c.opts.Journal.LoadState(completeName)
	if err != nil {
		return // said when the records were read; marks tell what is whose
	}
	for name := range names {
		c.keeper.complete[name] = true
	}
}

// completeRecord notes that everything of the descriptors that were read is on record
// now that what nobody asked for is removed: as long as the record begins, the marks in
// the southbound tell what the agent made before. From then on others made what is not
// on record, whatever mark it has.
func (c *Control) completeRecord(dropped bool) {
	k := &c.keeper
	if k.journal == nil || !dropped || k.stale {
		return
	}
	put := map[string][]byte{}
	for _, name := range k.read {
		if !k.complete[name] {
			k.complete[name] = true
			put[name] = []byte{1}
		}
	}
	if len(put) > 0 {
		_ = k.journal.SaveState(completeName, put, false) // or the next run goes by the marks, as this one did
	}
}
