import Glibc

/// A folder that only its owner may enter, and its files.
struct PrivateFolder: Sendable {
    let path: String

    /// Makes the folder, and those above it, if it is missing.
    init(path: String) throws(StorageError) {
        self.path = path
        try Self.make(path)
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw Self.unavailable(path) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .unsafePlace(path: path, reason: "it is a link or a file, and not a folder")
        }
        try Self.checkOwner(status, path: path, remedy: "chmod 700")
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Opens a file, or makes an empty one.
    ///
    /// - Returns: the descriptor, which the caller must close.
    func open(_ name: String) throws(StorageError) -> Int32 {
        let path = file(name)
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            if errno == ELOOP { throw .unsafePlace(path: path, reason: "it is a link") }
            throw Self.unavailable(path)
        }
        do throws(StorageError) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw Self.unavailable(path) }
            guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
                throw .unsafePlace(path: path, reason: "it is not an ordinary file under one name")
            }
            try Self.checkOwner(status, path: path, remedy: "chmod 600")
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    func exists(_ name: String) -> Bool {
        var status = stat()
        return unsafe lstat(file(name), &status) == 0
    }

    /// Gives a file another name, if it is there.
    func rename(_ name: String, to other: String) throws(StorageError) {
        guard unsafe Glibc.rename(file(name), file(other)) == 0 || errno == ENOENT else {
            throw Self.unavailable(file(name))
        }
    }

    func remove(_ name: String) { _ = unsafe unlink(file(name)) }

    private static func make(_ path: String) throws(StorageError) {
        guard unsafe mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw unavailable(path)
        }
        try make(String(path[..<slash]))
        // Another process may have been quicker.
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw unavailable(path) }
    }

    private static func checkOwner(_ status: stat, path: String, remedy: String) throws(StorageError) {
        guard status.st_uid == geteuid() else {
            throw .unsafePlace(path: path, reason: "it belongs to another user")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .unsafePlace(path: path, reason: "others may use it; \(remedy) it, or name another place")
        }
    }

    private static func unavailable(_ path: String) -> StorageError {
        .unavailable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
}
