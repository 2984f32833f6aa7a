package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/fault"
)

// version is the newest version of the records that this package writes. It also reads older
// ones: in version 1 a reply's text was in its message, in its response, and again in the
// messages after it. Up to version 2 a rewrite had one edit, and there were no summaries. Up
// to version 3 an attempt had one turn, and up to version 4 a batch run did not record it.
const version = 5

// versionOf returns the oldest version whose readers understand records of this type as
// they are written now. Older readers then refuse only the records that they cannot read.
func versionOf(typ string) int {
	switch typ {
	case TypeSession, TypeTurn, TypeTurnEnd, TypeRetry, TypeArtifact, TypeClear:
		return version
	case TypeRewrite, TypeSummaryRequest, TypeSummary:
		return 3
	}
	return 2
}

// Types of journal records. Package results writes and reads the first group, package attempt writes
// the others, and package session the records of a session. The package comment describes their data,
// which has Go types such as [ReplyData]. [Writer] reads only costs and the texts of a reply,
// [ReadHistory] everything. A reader skips types that it does not know.
const (
	TypeAttempt    = "attempt"    // an attempt began
	TypePrediction = "prediction" // the prediction that the next end record commits
	TypeEnd        = "end"        // the attempt ended: its Record
	TypeReset      = "reset"      // a person asked to forget the result
	TypeResume     = "resume"     // the attempt is resumed after a crash or an interruption

	TypeContainer  = "container"  // where the actions run from now on
	TypeDifference = "difference" // a recorded action had a different output when it ran again
	TypeMessages   = "messages"   // messages were appended to the conversation
	TypeRewrite    = "rewrite"    // a part of what is sent to the model was replaced
	TypeRequest    = "request"    // a paid call is about to be made
	TypeReply      = "reply"      // the call was answered; data.cost is its price in US dollars

	// A call which shows that a shorter conversation is accepted is paid, and is not a step. In
	// earlier journals, the model also wrote summaries of the conversation in such calls.
	TypeSummaryRequest = "summary_request" // it is about to be made
	TypeSummary        = "summary"         // it was answered; data.reply.cost is its price in US dollars

	TypeTry        = "try"        // another try of the call is about to be made
	TypeUnpaid     = "unpaid"     // the last try failed, and was not charged
	TypeLost       = "lost"       // calls were not answered and may have been charged
	TypeAction     = "action"     // a command is about to run, or has run if it changes nothing
	TypeOutput     = "output"     // the command ended
	TypeInterrupt  = "interrupt"  // the flow was interrupted; messages follow
	TypeSubmission = "submission" // what the agent submitted
	TypeSalvage    = "salvage"    // the working tree's diff, if it did not submit

	// Records of a session. A batch run is one with one turn, which has no words of a person.
	TypeSession  = "session"  // the session's id, status and metadata
	TypeTurn     = "turn"     // a turn began
	TypeTurnEnd  = "turn_end" // the turn ended
	TypeRetry    = "retry"    // a turn that failed is tried again, from its last request or reply
	TypeArtifact = "artifact" // something that the session has made
	TypeClear    = "clear"    // the conversation and the artifacts are forgotten
)

// Record is one line of a journal.
type Record struct {
	Version int     `json:"v"`
	Seq     int64   `json:"seq"`     // from 1, without gaps
	Attempt int     `json:"attempt"` // the attempt it belongs to
	Start   int64   `json:"start"`   // byte offset of that attempt's first record
	Calls   int     `json:"calls"`   // replies of that attempt up to here
	Cost    float64 `json:"cost"`    // US dollars of those replies, and of calls that are no steps

	// Lost is how many calls of the attempt may have been charged although no answer is known,
	// including a running call. Spent is Cost plus their estimated cost, in US dollars; 0 if
	// it equals Cost.
	Lost  int     `json:"lost,omitempty"`
	Spent float64 `json:"spent,omitempty"`

	// Masked says where in masked.jsonl the copy of the record is that people may read, in
	// bytes; -1 if they may read the record itself. 0: it was never searched for secrets.
	Masked int64 `json:"masked,omitempty"`

	Time time.Time       `json:"t"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// SpentSoFar returns how much the attempt has spent up to this record, in US dollars.
func (r *Record) SpentSoFar() float64 { return max(r.Cost, r.Spent) }

// Held returns the estimated cost of the lost calls up to this record, in US dollars.
func (r *Record) Held() float64 { return Difference(r.SpentSoFar(), r.Cost) }

// Difference is a - b without the rounding error of a sum of costs.
func Difference(a, b float64) float64 { return math.Round((a-b)*1e9) / 1e9 }

// A line ends with its checksum, so that its bytes can be verified before
// anything in it is used: `,"crc":"` + 8 hex digits + `"}`.
const (
	crcHead = `,"crc":"`
	crcTail = `"}`
	crcSize = len(crcHead) + 8 + len(crcTail)
)

const dataMember = `,"data":` // the last member before the checksum

const recordOverhead = 256 // more than a line without its data

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// appendRecord adds r as a line, final newline included. An output that is not nil
// takes the place of the empty text at the end of r's data.
func appendRecord(b []byte, r *Record, output []byte) []byte {
	b = slices.Grow(b, recordOverhead+len(r.Data)+base64.StdEncoding.EncodedLen(len(output)))
	from := len(b)
	b = append(appendHead(b, r), r.Data...)
	if output != nil {
		b = base64.StdEncoding.AppendEncode(b[:len(b)-len(`"}`)], output)
		b = append(b, `"}`...)
	}
	sum := checksum(b[from:])
	b = append(b, crcHead...)
	b = hex.AppendEncode(b, binary.BigEndian.AppendUint32(nil, sum))
	return append(b, crcTail+"\n"...)
}

// appendHead adds a record's line up to its data.
func appendHead(b []byte, r *Record) []byte {
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
	if r.Lost > 0 {
		b = append(b, `,"lost":`...)
		b = strconv.AppendInt(b, int64(r.Lost), 10)
	}
	if r.Spent > 0 {
		b = append(b, `,"spent":`...)
		b = strconv.AppendFloat(b, r.Spent, 'g', -1, 64)
	}
	if r.Masked != 0 {
		b = append(b, `,"masked":`...)
		b = strconv.AppendInt(b, r.Masked, 10)
	}
	b = append(b, `,"t":"`...)
	b = r.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","type":"`...)
	b = append(b, r.Type...)
	return append(b, `"`+dataMember...)
}

// intact reports whether line, without its newline, is a whole record.
func intact(line []byte) bool {
	if len(line) < crcSize || line[0] != '{' {
		return false
	}
	body, tail := line[:len(line)-crcSize], line[len(line)-crcSize:]
	sum, ok := checksumIn(tail)
	return ok && sum == checksum(body)
}

// checksumIn reads the checksum at the end of a line.
func checksumIn(tail []byte) (sum uint32, ok bool) {
	if !bytes.HasPrefix(tail, []byte(crcHead)) || !bytes.HasSuffix(tail, []byte(crcTail)) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(tail[len(crcHead):len(crcHead)+8]), 16, 32)
	return uint32(n), err == nil
}

// decodeRecord reads an intact line. An error means that the record is of a
// later version, or was never written by this package.
func decodeRecord(line []byte) (Record, error) {
	r, err := decodeInPlace(line)
	r.Data = bytes.Clone(r.Data)
	return r, err
}

// decodeInPlace is decodeRecord without a copy: the data is a part of line.
func decodeInPlace(line []byte) (r Record, err error) {
	// The part before the data is small and was written by batch; the data is decoded where it is used.
	head, data, found := bytes.Cut(line[:len(line)-crcSize], []byte(dataMember))
	if found && len(data) > 0 {
		var usual bool
		if r, usual = readHead(string(head)); !usual {
			err = json.Unmarshal(append(bytes.Clone(head), '}'), &r)
		}
		r.Data = data
	} else {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		return r, fault.New(fault.Instance, "reading a journal record", err)
	}
	if r.Version > version {
		return r, fault.Newf(fault.Usage, "journal record %d has version %d, newer than %d", r.Seq, r.Version, version).
			WithHint("this directory was written by a newer batch: use that version, or another output directory")
	}
	return r, nil
}

// readHead reads a line up to its data; false if it differs in form from what appendHead
// writes. A general JSON parser takes several times as long, for each record.
func readHead(head string) (r Record, ok bool) {
	h := headReader{head, true}
	h.take(`{"v":`)
	r.Version = int(h.integer())
	h.take(`"seq":`)
	r.Seq = h.integer()
	h.take(`"attempt":`)
	r.Attempt = int(h.integer())
	h.take(`"start":`)
	r.Start = h.integer()
	h.take(`"calls":`)
	r.Calls = int(h.integer())
	h.take(`"cost":`)
	r.Cost = h.number()
	if h.has(`"lost":`) {
		r.Lost = int(h.integer())
	}
	if h.has(`"spent":`) {
		r.Spent = h.number()
	}
	if h.has(`"masked":`) {
		r.Masked = h.integer()
	}
	h.take(`"t":"`)
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(h.value(), `"`))
	r.Time = at
	h.take(`"type":"`)
	r.Type, ok = strings.CutSuffix(h.rest, `"`)
	if !ok || !h.ok || err != nil || !validType(r.Type) {
		return Record{}, false
	}
	return r, true
}

// headReader reads the members of a head one after the other.
type headReader struct {
	rest string
	ok   bool
}

func (h *headReader) has(name string) (found bool) {
	h.rest, found = strings.CutPrefix(h.rest, name)
	return found
}

func (h *headReader) take(name string) { h.ok = h.has(name) && h.ok }

// value returns the text up to the next comma.
func (h *headReader) value() string {
	value, rest, found := strings.Cut(h.rest, ",")
	h.rest, h.ok = rest, h.ok && found
	return value
}

func (h *headReader) integer() int64 {
	n, err := strconv.ParseInt(h.value(), 10, 64)
	h.ok = h.ok && err == nil
	return n
}

func (h *headReader) number() float64 {
	n, err := strconv.ParseFloat(h.value(), 64)
	h.ok = h.ok && err == nil
	return n
}

// validType refuses record types that JSON would escape.
func validType(typ string) bool {
	for _, c := range typ {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return typ != ""
}
