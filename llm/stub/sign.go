package stub

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// signature returns a thought's signature, which reveals changes of the thought. It depends on the thought
// alone, so that a restarted server accepts it.
func signature(kind, thought string) string {
	mac := hmac.New(sha256.New, []byte("stub "+kind))
	mac.Write([]byte(thought))
	return base64.StdEncoding.EncodeToString(append([]byte(kind+" "), mac.Sum(nil)...))
}

// sealed returns a thought that only the server can read.
func sealed(kind, thought string) string {
	return base64.StdEncoding.EncodeToString([]byte(thought)) + "." + signature(kind, thought)
}

// isSealed reports whether data comes from sealed.
func isSealed(kind, data string) bool {
	text, _, ok := strings.Cut(data, ".")
	thought, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && data == sealed(kind, string(thought))
}

// canonical returns JSON in one spelling, so that equal values have equal texts.
func canonical(data []byte) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(data)
	}
	return string(encode(v))
}
