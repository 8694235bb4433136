import ConformanceKit
import Foundation

let help = """
    Plays files of wire vectors and scripts against this package's Bluetooth stack.

    usage: conformance PATH...

    Known formats, told apart by their content:
      attribute protocol scripts   databases and cases, as in gatt-pdu-scripts.json
      advertising payloads         as in advertisements.json
      UUID spellings               as in uuid-strings.json
      cryptographic functions      as in crypto-vectors.json
      pairings                     as in smp-pairing-transcripts.json
      attacks                      as in attacks.json
      channels                     as in l2cap-le-scripts.json

    Each case that fails is printed with what was expected and what happened; each that cannot be
    played on a protocol alone is named with the reason. The last line is "N passed, N failed", and
    how many were skipped if any were.

    exit status: 0 all passed; 1 some failed; 2 a file is damaged, unreadable or of an unknown format, or
    the command line is wrong, or the output cannot be written
    """

func complain(_ text: String) {
    // There is nowhere left to tell that this failed.
    try? FileHandle.standardError.write(contentsOf: Data("conformance: \(text)\n".utf8))
}

/// - Returns: the exit status.
func run(_ arguments: [String]) -> Int32 {
    if arguments.contains("--help") || arguments.contains("-h") {
        print(help)
        return 0
    }
    if let option = arguments.first(where: { $0.hasPrefix("-") }) {
        complain("There is no option \(option). Try --help.")
        return 2
    }
    guard !arguments.isEmpty else {
        complain("Which files? Try --help.")
        return 2
    }
    var total = ConformanceReport()
    var allReadable = true
    for path in arguments {
        do throws(VectorFileError) {
            let report = try VectorFile(path: path).play()
            for paragraph in report.details { print("\(path): \(paragraph)") }
            total.add(report)
        } catch {
            complain("\(path): \(error)")
            allReadable = false
        }
    }
    print(total.summary)
    if !allReadable { return 2 }
    return total.failures.isEmpty ? 0 : 1
}

var status = run(Array(CommandLine.arguments.dropFirst()))
// A report that could not be written is no success.
if fflush(nil) != 0 {
    complain("The output cannot be written: \(unsafe String(cString: strerror(errno))).")
    status = 2
}
exit(status)
