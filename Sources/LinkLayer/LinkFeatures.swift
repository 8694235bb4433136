/// What a link layer can do, as far as the link layer itself goes by it.
///
/// Source: Core 6.0, Vol 6, Part B, 4.6.
package struct LinkFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let extendedReject = LinkFeatures(rawValue: 1 << 2)
    package static let phy2M = LinkFeatures(rawValue: 1 << 8)
    package static let codedPHY = LinkFeatures(rawValue: 1 << 11)
    package static let subrating = LinkFeatures(rawValue: 1 << 37)
    /// The host is for it.
    package static let subratingHost = LinkFeatures(rawValue: 1 << 38)
}
