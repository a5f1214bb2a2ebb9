package statseg

import "os"

// OfFile is the segment that is in a file.
func OfFile(file *os.File) (*Segment, error) { return newSegment(file) }
