/// What services, characteristics and descriptors have in common: a kind.
// `@unchecked`: what changes in it and in its subclasses is read and written under `lock`, which the attributes of
// one peer share with their manager. Attributes that an app makes have a lock of their own.
open class CBAttribute: NSObject, @unchecked Sendable {
    let lock: StateLock
    private let kind: CBUUID

    init(uuid: CBUUID, lock: StateLock) {
        kind = uuid
        self.lock = lock
        super.init()
    }

    /// The kind. Several attributes of a peer may have the same.
    open var uuid: CBUUID { kind }
}
