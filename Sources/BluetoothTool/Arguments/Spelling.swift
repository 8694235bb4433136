/// Guesses what somebody meant.
package enum Spelling {
    /// The candidate that is nearest to `word`, if one is near enough to be meant.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        let word = word.lowercased()
        let measured = candidates.map { (candidate: $0, distance: distance(word, $0.lowercased())) }
        guard let best = measured.min(by: { $0.distance < $1.distance }) else { return nil }
        if best.distance <= (word.count < 4 ? 1 : max(2, word.count / 3)) { return best.candidate }
        return candidates.first { $0.lowercased().hasPrefix(word) && word.count > 2 }
    }

    /// How many letters must be added, taken away or changed (Levenshtein).
    static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (line, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for column in right.indices {
                let changed = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(changed, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[right.count]
    }
}
