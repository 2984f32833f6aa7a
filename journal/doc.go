// Package journal is the append-only history of one instance: it appends records,
// reads them, and tells how a history that broke off can go on. Its file is the truth
// about the instance; package results derives all else from it.
//
// # Lines
//
// One record per line, in JSON (UTF-8), members always in this order:
//
//	{"v":2,"seq":3,"attempt":2,"start":812,"calls":1,"cost":0.02,"spent":0.03,"t":"...","type":"reply","data":{...},"crc":"89abcdef"}
//
//	v        version of the format; a reader refuses records newer than it knows
//	seq      from 1, without gaps, over all attempts
//	attempt  the attempt that the record belongs to, from 1
//	start    byte offset of the line with which that attempt began
//	calls    replies of that attempt so far, this record included
//	cost     US dollars of those replies
//	spent    of those, and of calls that may have been charged although no answer is
//	         known; absent where it is cost
//	t        time, RFC 3339 with nanoseconds, UTC
//	type     lower-case word; readers pass over those they do not know
//	data     any JSON
//	crc      CRC-32C (Castagnoli), 8 hex digits, of the line's bytes before `,"crc"`
//
// The last record alone thus says where the instance stands and what it cost:
// opening a directory reads journals from the back. crc and v keep their
// place in every version.
//
// # Records
//
// The records by which attempts begin, end and are resumed belong to who keeps the
// directory: see package results.
//
// Record types of whoever runs the attempt, with the Go types of their data.
// Of these [Writer] looks only into a reply, and at "cost"; [ReadHistory] reads all:
//
//	container   ContainerData: where the actions run from here on
//	difference  DifferenceData: an action that ran again did something else
//	messages    MessagesData: appended to the conversation
//	rewrite     RewriteData: a part of what the model is sent was replaced
//	request     RequestData: a paid call is about to be made
//	reply       ReplyData: it was answered, and cost so much
//	lost        LostData: calls were not answered, and may have been charged
//	action      ActionData: a command is about to run
//	output      OutputData: it ended
//	interrupt   InterruptData: the flow was broken; the messages follow
//	submission  SubmissionData: what was handed in
//	salvage     SalvageData: the work tree's diff, where nothing was
//
// JSON holds no bytes that are not UTF-8: what must stay exact is encoded.
//
// What is large stands once. A message refers to the output that it shows and to
// the provider's answer ([MessagesData]); the trajectory has both in their place.
// A reply's text stands in its message alone: the response holds "" for each string of
// 64 bytes and more that the message has too, and "shared" lists, for each, its offset
// in the response and the bytes from and to of the message that belong there. So do the
// messages that are appended behind the reply, with offsets in their list; "reply" is
// its step.
// Of an output at most 10 MiB are kept where it submits, else the two ends of 1
// MiB; and once an attempt's outputs come to 64 MiB, the ends of 64 KiB of each
// further one. A trajectory reports what was cut as extra.output_bytes.
package journal
