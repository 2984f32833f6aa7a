// Package journal is the append-only history of one instance: it appends records,
// reads them, and returns the state from which an interrupted attempt can be resumed. Its
// file is the source of truth about the instance; package results derives everything else
// from it.
//
// # Lines
//
// One record per line, in JSON (UTF-8), members always in this order:
//
//	{"v":2,"seq":3,"attempt":2,"start":812,"calls":1,"cost":0.02,"lost":1,"spent":0.03,"t":"...","type":"reply","data":{...},"crc":"89abcdef"}
//
//	v        version of the format that understands the record; a reader refuses records newer
//	         than it knows
//	seq      from 1, without gaps, over all attempts
//	attempt  the attempt that the record belongs to, from 1
//	start    byte offset of the line with which that attempt began
//	calls    replies of that attempt so far, this record included
//	cost     US dollars of those replies, and of summaries
//	lost     calls of that attempt that may have been charged although no answer is known; a
//	         call that is under way is one of them; absent if 0
//	spent    cost, plus what the lost calls count as; absent if equal to cost
//	t        time, RFC 3339 with nanoseconds, UTC
//	type     lower-case word; readers skip types that they do not know
//	data     any JSON
//	crc      CRC-32C (Castagnoli), 8 hex digits, of the line's bytes before `,"crc"`
//
// So the last record alone has the state and the cost of the instance, and opening a
// directory reads only the end of each journal. crc and v keep their place in every
// version.
//
// # Records
//
// Package results documents the records for the start, the resumption and the end of an
// attempt.
//
// The program that runs the attempt writes these types, listed with the Go types of their
// data. [Writer] reads only "cost", and the texts of a reply; [ReadHistory] reads all:
//
//	container   ContainerData: where the actions run from now on
//	difference  DifferenceData: an action that ran again had a different output
//	messages    MessagesData: appended to the conversation
//	rewrite     RewriteData: parts of what is sent to the model were replaced
//	request     RequestData: a paid call is about to be made
//	reply       ReplyData: the call was answered; its cost
//	summary_request, summary
//	            SummaryRequestData, SummaryData: a call in which the model writes a summary for
//	            the rewrite that follows; it is paid, and is not a step
//	try         TryData: another try of the call is about to be made
//	unpaid      UnpaidData: the last try failed, and was not charged
//	lost        LostData: calls were not answered, and may have been charged
//	action      ActionData: a command is about to run, or has run if it changes nothing
//	output      OutputData: the command ended
//	interrupt   InterruptData: the flow was interrupted; the messages follow
//	submission  SubmissionData: what the agent submitted
//	salvage     SalvageData: the working tree's diff, if nothing was submitted
//
// An attempt is one turn of the agent, unless it has these records, which package session
// writes:
//
//	session     SessionData: what a person says of the session
//	turn        TurnData: a turn began
//	turn_end    TurnEndData: the turn ended
//	retry       null: the open turn is tried again. As after a resume, what was recorded
//	            after its last request is recorded again
//	artifact    ArtifactData: something that the session has made
//	clear       null: the conversation and the artifacts so far are forgotten. They stay in
//	            the journal for its readers
//
// JSON cannot hold bytes that are not UTF-8, so exact bytes are encoded.
//
// Large data is stored once. A message refers to the output that it shows and to
// the provider's answer ([MessagesData]); the trajectory has both in place of the references.
// The text of a reply is only in its message: the response has "" for each string of
// 64 bytes or more that is also in the message, and "shared" lists for each its offset in
// the response, and where its bytes begin and end in the message. Messages that are
// appended after the reply use the same form, with offsets in their list; "reply" is the
// reply's step.
//
// A submitting output is kept up to 10 MiB; other outputs are cut to 1 MiB, the
// beginning and the end. When an attempt's outputs reach 64 MiB, each further one is cut
// to 64 KiB. A trajectory reports a cut as extra.output_bytes.
package journal
