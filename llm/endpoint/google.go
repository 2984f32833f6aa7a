package endpoint

import (
	"encoding/json"
	"strings"

	"batch.example/batch/internal/lazy"
)

// ofKey matches how Google says that a key cannot be used: with a 400.
var ofKey = lazy.Regexp(`\bAPI_KEY_[A-Z_]+\b`)

// ofPlace matches how it says so of a key that cannot be used from here, or only by those who
// pay. Other refusals have the same code.
var ofPlace = lazy.Regexp(`(?i)location is not supported|free tier|billing`)

// refusesKey reports whether a 400 is about the key.
func (s errorBody) refusesKey() bool {
	return ofKey().MatchString(s.code) || strings.Contains(s.code, "FAILED_PRECONDITION") && ofPlace().MatchString(s.text)
}

// ofDay matches Google's name of a quota that is renewed once a day.
var ofDay = lazy.Regexp(`PerDay`)

// reasons are the codes in the details of an error of Google's: what is wrong, and which
// quotas are exceeded.
func reasons(details json.RawMessage) (codes string) {
	var list []struct {
		Reason     string `json:"reason"`
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(details, &list) != nil {
		return ""
	}
	for _, d := range list {
		codes += " " + d.Reason
		for _, v := range d.Violations {
			codes += " " + v.QuotaID
		}
	}
	return codes
}
