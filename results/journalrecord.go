package results

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"strconv"
	"time"

	"batch.example/batch/fault"
)

// JournalVersion is the version of the records that this package writes. It
// reads that version and older ones.
const JournalVersion = 1

// Types of journal records. The store itself writes and reads those of the
// first group; the others are the solver's and their data is described in the
// package comment. A reader passes over types that it does not know.
const (
	TypeAttempt    = "attempt"    // an attempt began
	TypePrediction = "prediction" // the prediction that the next end record commits
	TypeEnd        = "end"        // the attempt ended: its Record
	TypeReset      = "reset"      // a person asked to forget the result
	TypeResume     = "resume"     // the attempt is gone on with, after a crash or a stop

	TypeContainer  = "container"  // where the actions run from here on
	TypeDifference = "difference" // a recorded action did something else when it ran again
	TypeMessages   = "messages"   // messages were appended to the conversation
	TypeRequest    = "request"    // a paid call is about to be made
	TypeReply      = "reply"      // it was answered; data.cost is its price in US dollars
	TypeAction     = "action"     // a command is about to run
	TypeOutput     = "output"     // it ended
	TypeInterrupt  = "interrupt"  // the flow was broken; messages follow
	TypeSubmission = "submission" // what the agent handed in
)

// JournalRecord is one line of a journal.
type JournalRecord struct {
	Version int             `json:"v"`
	Seq     int64           `json:"seq"`     // from 1, without gaps
	Attempt int             `json:"attempt"` // the attempt it belongs to
	Start   int64           `json:"start"`   // byte offset of that attempt's first record
	Calls   int             `json:"calls"`   // replies of that attempt up to here
	Cost    float64         `json:"cost"`    // US dollars of those replies
	Time    time.Time       `json:"t"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
}

// A line ends with its checksum, so that it can be verified as bytes, before
// anything in it is believed: `,"crc":"` + 8 hex digits + `"}`.
const (
	crcHead = `,"crc":"`
	crcTail = `"}`
	crcSize = len(crcHead) + 8 + len(crcTail)
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// appendRecord adds r as a line, final newline included.
func appendRecord(b []byte, r *JournalRecord) []byte {
	from := len(b)
	b = append(b, `{"v":`...)
	b = strconv.AppendInt(b, int64(r.Version), 10)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, r.Seq, 10)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(r.Attempt), 10)
	b = append(b, `,"start":`...)
	b = strconv.AppendInt(b, r.Start, 10)
	b = append(b, `,"calls":`...)
	b = strconv.AppendInt(b, int64(r.Calls), 10)
	b = append(b, `,"cost":`...)
	b = strconv.AppendFloat(b, r.Cost, 'g', -1, 64)
	b = append(b, `,"t":"`...)
	b = r.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","type":"`...)
	b = append(b, r.Type...)
	b = append(b, `","data":`...)
	b = append(b, r.Data...)
	sum := checksum(b[from:])
	b = append(b, crcHead...)
	b = hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(b, crcTail+"\n"...)
}

// intact reports whether line, without its newline, is a whole record.
func intact(line []byte) bool {
	if len(line) < crcSize || line[0] != '{' {
		return false
	}
	body, tail := line[:len(line)-crcSize], line[len(line)-crcSize:]
	if !bytes.HasPrefix(tail, []byte(crcHead)) || !bytes.HasSuffix(tail, []byte(crcTail)) {
		return false
	}
	sum, err := strconv.ParseUint(string(tail[len(crcHead):len(crcHead)+8]), 16, 32)
	return err == nil && uint32(sum) == checksum(body)
}

// decodeRecord reads an intact line. An error means that the record is of a
// later version, or was never written by this package.
func decodeRecord(line []byte) (JournalRecord, error) {
	var r JournalRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fault.New(fault.Instance, "reading a journal record", err)
	}
	if r.Version > JournalVersion {
		return r, fault.Newf(fault.Usage, "journal record %d has version %d, newer than %d", r.Seq, r.Version, JournalVersion).
			WithHint("this directory was written by a newer batch: use that version, or another output directory")
	}
	return r, nil
}

// validType keeps record types free of anything JSON would escape.
func validType(typ string) bool {
	for _, c := range typ {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return typ != ""
}
