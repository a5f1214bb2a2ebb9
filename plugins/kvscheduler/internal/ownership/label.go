package ownership

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// ErrOtherAgent: the file is of an agent with another label.
var ErrOtherAgent = errors.New("the state directory is of another agent")

// labelKey is the label of the agent whose file it is; a file of a program that
// knew nothing of labels has none.
var labelKey = []byte("label")

// checkLabel returns an error for a file that another agent wrote. Its records must not
// take effect here. They must not be lost either, in case the label is a mistake, so the
// file stays unchanged.
func (s *Store) checkLabel(label []byte) error {
	own := s.opts.Label
	if own == "" || len(label) == 0 || string(label) == own || string(label) == s.opts.From {
		return nil
	}
	return fmt.Errorf("%w: %s was written by the agent %q, and this one has the label %q (microservice-label): start this one with "+
		"the former label if that is the right one; give it a state-dir of its own, or move %s away, if the directory is a copy, so that "+
		"it starts without a record; or set state-dir-from: %s in kvscheduler.conf if the agent has got another label and is to continue with this directory",
		ErrOtherAgent, s.path(), label, own, fileName, label)
}

// adopt checks whose file it is and makes it that of this agent.
func (s *Store) adopt(tx *bolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	label := meta.Get(labelKey)
	if err := s.checkLabel(label); err != nil || s.opts.Label == "" || string(label) == s.opts.Label {
		return err
	}
	return meta.Put(labelKey, []byte(s.opts.Label))
}
