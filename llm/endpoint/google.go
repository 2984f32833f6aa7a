package endpoint

import (
	"encoding/json"
	"strings"

	"batch.example/batch/internal/lazy"
)

// ofKey matches Google's codes, with a 400, for a key that cannot be used.
var ofKey = lazy.Regexp(`\bAPI_KEY_[A-Z_]+\b`)

// ofPlace matches Google's words for a key that cannot be used from this place, or only with billing. Other
// refusals have the same code.
var ofPlace = lazy.Regexp(`(?i)location is not supported|free tier|billing`)

// refusesKey reports whether a 400 is about the key.
func (s errorBody) refusesKey() bool {
	return ofKey().MatchString(s.code) || strings.Contains(s.code, "FAILED_PRECONDITION") && ofPlace().MatchString(s.text)
}

// ofDay matches Google's names of quotas that are renewed once a day.
var ofDay = lazy.Regexp(`PerDay`)

// reasons returns the codes in the details of Google's errors: the reasons, and the exceeded quotas.
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
