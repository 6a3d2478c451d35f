# SPDX-License-Identifier: GPL-3.0-or-later
"""Japanese and Simplified Chinese for all that users read.

Blender itself translates what it draws: labels and descriptions. Sentences are made by `tr`, labels
with values by `label`. Where Blender's own catalogue has an entry, that one is shown.
"""

import threading

import bpy

from . import blender_versions
from .sentences import SENTENCES

_DEFAULT = {
    # The add-on in the preferences.
    "Show, bake and import MMD models with the deformation that MMD computes": (
        "MMD が計算する変形のまま、MMD モデルを表示・ベイク・インポートします",
        "以 MMD 计算的变形来显示、烘焙和导入 MMD 模型",
    ),
    "3D View > Sidebar > MMD": ("3Dビュー > サイドバー > MMD", "3D 视图 > 侧栏 > MMD"),
    # Panels.
    "Bake": ("ベイク", "烘焙"),
    "Files": ("ファイル", "文件"),
    "Details": ("詳細", "详细信息"),
    "Baked": ("ベイク済み", "已烘焙"),
    "Last evaluation: {ms:.2f} ms": ("前回の評価: {ms:.2f} ms", "上次求值：{ms:.2f} 毫秒"),
    "not available": ("利用不可", "不可用"),
    # What preview and bake show.
    "MMD Skinning": ("MMD スキニング", "MMD 蒙皮"),
    "Show the deformation that MMD computes, in the viewport and in renders": (
        "MMD が計算する変形を、ビューポートとレンダリングに表示します",
        "在视图和渲染中显示 MMD 计算的变形",
    ),
    "Action": ("操作", "操作"),
    "Toggle": ("切り替え", "切换"),
    "Switch on what is off, and off what is on": (
        "オフならオンに、オンならオフにします",
        "开启已关闭的，关闭已开启的",
    ),
    "Enable": ("有効", "启用"),
    "Switch on": ("オンにします", "开启"),
    "Disable": ("無効", "禁用"),
    "Switch off": ("オフにします", "关闭"),
    "Deformation": ("変形方法", "变形方式"),
    "How the vertices follow the bones, live and baked": (
        "頂点がボーンに従う方法（ライブ表示とベイク）",
        "顶点如何跟随骨骼（实时显示和烘焙）",
    ),
    "As in MMD": ("MMD と同じ", "与 MMD 相同"),
    "Each vertex by the type that its file gives it: choose it to see what MMD shows": (
        "頂点ごとにファイルの変形方式を使います。MMD と同じ表示にしたいときに選びます",
        "每个顶点按文件指定的类型变形：要看到与 MMD 相同的效果时选择",
    ),
    "Linear": ("線形", "线性"),
    "As Blender's Armature modifier and game engines do:"
    " choose it to see what an export with bones will show": (
        (
            "Blender のアーマチュアモディファイアーやゲームエンジンと同じ変形です。"
            "ボーン付きでエクスポートした結果を確かめたいときに選びます"
        ),
        "与 Blender 的骨架修改器和游戏引擎相同：要查看带骨骼导出后的效果时选择",
    ),
    "Dual Quaternions": ("デュアルクォータニオン", "对偶四元数"),
    "Twists and bends keep their volume and joints bulge:"
    " choose it where limbs twist more than they bend": (
        (
            "ひねりや曲げで体積が保たれますが、関節が膨らみます。"
            "曲げよりもひねりが多いときに選びます"
        ),
        "扭转和弯曲保持体积，但关节会鼓起：四肢扭转多于弯曲时选择",
    ),
    "Bulge-Free": ("膨らみなし", "无鼓起"),
    "Dual quaternions without any bulge:"
    " choose it where elbows and knees must not swell, and thinner creases are fine": (
        (
            "膨らみのないデュアルクォータニオンです。"
            "ひじやひざを膨らませたくなく、折り目が細くなってもよいときに選びます"
        ),
        "没有鼓起的对偶四元数：肘部和膝部不能鼓起、折痕变细也无妨时选择",
    ),
    "Compensated": ("膨らみ補正", "鼓起补偿"),
    "Dual quaternions with most of the bulge taken back:"
    " choose it where narrow weights bend far, at little cost": (
        (
            "膨らみの大部分を打ち消すデュアルクォータニオンです。"
            "ウェイトの境目が狭い関節を大きく曲げるときに、低い負荷で使えます"
        ),
        "抵消大部分鼓起的对偶四元数：权重过渡窄的关节大幅弯曲时选择，开销很小",
    ),
    "Centres of Rotation": ("回転中心", "旋转中心"),
    "Each vertex turns about a centre found from the weights:"
    " choose it where skin and clothes shall bend alike, without settings": (
        (
            "ウェイトから求めた中心のまわりに各頂点を回転させます。"
            "肌と服を設定なしで同じように曲げたいときに選びます"
        ),
        "每个顶点绕由权重求得的中心旋转：希望皮肤和衣服无需设置就同样弯曲时选择",
    ),
    "Correction": ("補正の強さ", "矫正强度"),
    "How much of the bulge is taken away": (
        "膨らみをどれだけ取り除くか",
        "消除多少鼓起",
    ),
    "Pose Source": ("ポーズ元", "姿态来源"),
    "Where preview and bake take the pose from": (
        "プレビューとベイクがポーズをどこから取得するか",
        "预览和烘焙从哪里获取姿态",
    ),
    "Armature": ("アーマチュア", "骨架"),
    "The pose that Blender evaluates: keyframes, constraints, physics": (
        "Blender が評価したポーズ（キーフレーム、コンストレイント、物理演算）",
        "Blender 求值得到的姿态（关键帧、约束、物理）",
    ),
    "Motion File": ("モーション", "动作文件"),
    "A VMD or VPD file, evaluated as MMD does, with MMD's own IK": (
        "VMD または VPD ファイル。MMD と同じ IK で、MMD と同じように評価します",
        "VMD 或 VPD 文件，按 MMD 的方式求值，使用 MMD 自己的 IK",
    ),
    "VMD or VPD file that moves the model": (
        "モデルを動かす VMD または VPD ファイル",
        "驱动模型的 VMD 或 VPD 文件",
    ),
    "Model File": ("モデル", "模型文件"),
    "PMX or PMD file of this model: its bones and IK are what the motion moves;"
    " the file that it was imported from where it is empty": (
        (
            "このモデルの PMX または PMD ファイル。モーションはこのファイルのボーンと IK を動かします。"
            "空欄の場合はインポート元のファイル"
        ),
        "此模型的 PMX 或 PMD 文件：动作驱动的是其中的骨骼和 IK；留空则使用导入时的文件",
    ),
    "Motion Start": ("モーション開始", "动作起始"),
    "Frame of the scene at which frame 0 of the motion plays": (
        "モーションの 0 フレーム目を再生するシーンのフレーム",
        "动作的第 0 帧在场景的哪一帧播放",
    ),
    "Real Time": ("実時間", "实际时间"),
    "Play 30 frames of the motion per second, whatever frame rate the scene has;"
    " else one frame of the motion per frame of the scene": (
        (
            "シーンのフレームレートに関係なく、モーションを毎秒 30 フレームで再生します。"
            "オフの場合はシーンの 1 フレームでモーションを 1 フレーム進めます"
        ),
        "无论场景帧率如何，都以每秒 30 帧播放动作；关闭时场景的每一帧对应动作的一帧",
    ),
    # Bake.
    "Put MMD's deformation into shape keys or a mesh cache, in place of the armature modifier": (
        (
            "MMD の変形をシェイプキーまたはメッシュキャッシュに書き込み、"
            "アーマチュアモディファイアーの代わりにします"
        ),
        "将 MMD 的变形写入形态键或网格缓存，取代骨架修改器",
    ),
    "Remove what the bake has added and bring the model back as it was; cache files are kept": (
        "ベイクで追加されたものを取り除き、モデルを元に戻します。キャッシュファイルは残ります",
        "移除烘焙添加的内容，使模型恢复原状；缓存文件会保留",
    ),
    "All Models": ("すべてのモデル", "所有模型"),
    "Act on every model of the scene, not only on the active one": (
        "アクティブなモデルだけでなく、シーンのすべてのモデルを処理します",
        "处理场景中的所有模型，而不仅是活动模型",
    ),
    "Target": ("ターゲット", "目标"),
    "Shape Keys": ("シェイプキー", "形态键"),
    "A shape key for each frame": (
        "フレームごとに 1 つのシェイプキー",
        "每一帧一个形态键",
    ),
    "Mesh Cache": ("メッシュキャッシュ", "网格缓存"),
    "A PC2 file, played by a Mesh Cache modifier": (
        "メッシュキャッシュモディファイアーで再生する PC2 ファイル",
        "由网格缓存修改器播放的 PC2 文件",
    ),
    "Corrective Keys": ("補正キー", "矫正形态键"),
    "Shape keys that add to the Armature modifier what it lacks": (
        "アーマチュアモディファイアーの変形に足りない分を補うシェイプキー",
        "补足骨架修改器所缺变形的形态键",
    ),
    "Range": ("範囲", "范围"),
    "Current Frame": ("現在のフレーム", "当前帧"),
    "The pose of the current frame": ("現在のフレームのポーズ", "当前帧的姿态"),
    "Scene Range": ("シーンの範囲", "场景范围"),
    "From the first to the last frame of the scene": (
        "シーンの開始フレームから終了フレームまで",
        "从场景的起始帧到结束帧",
    ),
    "Own Range": ("範囲を指定", "自定义范围"),
    "From a first to a last frame": (
        "指定した開始フレームから終了フレームまで",
        "从指定的起始帧到结束帧",
    ),
    "Start": ("開始", "起始"),
    "End": ("終了", "结束"),
    "First frame of an own range": ("指定する範囲の最初のフレーム", "自定义范围的第一帧"),
    "Last frame of an own range": ("指定する範囲の最後のフレーム", "自定义范围的最后一帧"),
    "Step": ("ステップ", "步长"),
    "Bake every how many frames": ("何フレームおきにベイクするか", "每隔多少帧烘焙一次"),
    "Corrective": ("補正", "矫正"),
    "Driven by Joints": ("関節で駆動", "由关节驱动"),
    "A key acts as far as its joint is bent": (
        "関節の曲がり具合に応じてキーが働きます",
        "形态键随其关节的弯曲程度起作用",
    ),
    "Keyed": ("キー", "键控"),
    "A key acts at its frame": (
        "キーフレームにより、該当するフレームでキーが働きます",
        "形态键在其所属的帧起作用",
    ),
    "Most Keys": ("最大キー数", "最多键数"),
    "No mesh gets more driven keys: those are made that take away most": (
        "メッシュごとの駆動キーの上限。誤差を最も減らすキーから順に作成します",
        "每个网格驱动键的上限：优先创建最能减小误差的键",
    ),
    "Tolerance": ("許容誤差", "容差"),
    "No more driven keys are made where no vertex is farther off": (
        "どの頂点の誤差もこれ以下になれば、駆動キーをそれ以上作成しません",
        "当所有顶点的误差都不超过此值时，不再创建驱动键",
    ),
    "Folder": ("フォルダー", "文件夹"),
    "Where mesh caches are written; beside the .blend where it is empty": (
        "メッシュキャッシュの書き出し先。空欄の場合は .blend ファイルと同じフォルダー",
        "网格缓存的写入位置；留空则写在 .blend 文件旁边",
    ),
    # Export.
    "Export the model as it is baked, by Blender's exporter with the options that fit": (
        "ベイクしたモデルを、Blender のエクスポーターで適切なオプションを使ってエクスポートします",
        "用 Blender 的导出器和合适的选项，按烘焙结果导出模型",
    ),
    "Format": ("形式", "格式"),
    "Of the file; the ending of the path tells it where it is not given": (
        "ファイルの形式。指定しない場合はパスの拡張子で決まります",
        "文件的格式；未指定时由路径的扩展名决定",
    ),
    "Shape keys and corrective keys, for game engines and the web": (
        "シェイプキーと補正キー。ゲームエンジンやウェブ向け",
        "形态键和矫正形态键，用于游戏引擎和网页",
    ),
    "Shape keys and corrective keys, for game engines and other programs": (
        "シェイプキーと補正キー。ゲームエンジンや他のソフト向け",
        "形态键和矫正形态键，用于游戏引擎和其他软件",
    ),
    "Every point of every frame, from any bake or live": (
        "全フレームの全頂点。どのベイクでも、ライブ表示でも書き出せます",
        "每一帧的所有顶点；任何烘焙或实时显示均可",
    ),
    # Import of models.
    "MMD model": ("MMD モデル", "MMD 模型"),
    "Import models of MikuMikuDance with their exact deformation data": (
        "MikuMikuDance のモデルを、正確な変形データとともにインポートします",
        "导入 MikuMikuDance 模型及其精确的变形数据",
    ),
    "Scale": ("スケール", "缩放"),
    "Size of one MMD unit; 0.08 makes the model life-size": (
        "MMD の 1 単位の大きさ。0.08 でモデルが等身大になります",
        "一个 MMD 单位的大小；0.08 使模型为真人大小",
    ),
    "Import": ("インポート", "导入"),
    "The parts of the file to import": (
        "ファイルのうちインポートする部分",
        "要导入文件中的哪些部分",
    ),
    "Mesh": ("メッシュ", "网格"),
    "Mesh, materials and weights": ("メッシュ、材質、ウェイト", "网格、材质和权重"),
    "Bones": ("ボーン", "骨骼"),
    "Morphs": ("モーフ", "变形"),
    "Shape keys and the data of all morphs (with mesh and armature)": (
        "シェイプキーと全モーフのデータ（メッシュとアーマチュアを含む）",
        "形态键和所有变形（表情）的数据（包括网格和骨架）",
    ),
    "Physics": ("物理演算", "物理"),
    "Rigid bodies and joints, as data (with armature)": (
        "剛体と Joint（データとして。アーマチュアを含む）",
        "刚体和关节（作为数据，包括骨架）",
    ),
    "Display": ("表示", "显示"),
    "Display frames as groups of bones (with armature)": (
        "表示枠をボーンのグループとしてインポート（アーマチュアを含む）",
        "将显示枠作为骨骼分组导入（包括骨架）",
    ),
    "Pack Textures": ("テクスチャをパック", "打包纹理"),
    "Keep the texture images inside the .blend file": (
        "テクスチャ画像を .blend ファイルの中に保存します",
        "将纹理图像保存在 .blend 文件中",
    ),
    # Import of motions, and what importers have lost.
    "Move the active MMD model by a motion or pose file, as MMD plays it": (
        "アクティブな MMD モデルを、モーションやポーズのファイルで MMD の再生どおりに動かします",
        "用动作或姿态文件驱动活动的 MMD 模型，与 MMD 的播放一致",
    ),
    "As": ("読み込み方法", "导入方式"),
    "Keyframes": ("キーフレーム", "关键帧"),
    "Key bones and shape keys as MMD plays the motion, IK solved": (
        "MMD が再生するとおりに、IK を解いた状態でボーンとシェイプキーにキーフレームを打ちます",
        "按 MMD 播放动作的结果（IK 已解算）为骨骼和形态键插入关键帧",
    ),
    "Motion Source": ("モーションの参照", "动作来源"),
    "Let the preview and the bake read the motion file": (
        "プレビューとベイクがモーションファイルを直接読み込みます",
        "让预览和烘焙直接读取动作文件",
    ),
    "Frames of the scene from one keyframe to the next": (
        "キーフレームの間隔（シーンのフレーム数）",
        "相邻关键帧之间的场景帧数",
    ),
    "Replace": ("置き換え", "替换"),
    (
        "Remove what was imported before and the keyframes of all bones of the model;"
        " else the motion is merged into them from its first keyframe on, as in MMD"
    ): (
        (
            "以前にインポートしたものと、モデルの全ボーンのキーフレームを取り除きます。オフの場合は MMD と同じように、"
            "モーションの最初のキーフレームから既存のキーフレームに統合します"
        ),
        "移除先前导入的内容和模型所有骨骼的关键帧；关闭时与 MMD 一样，从动作的第一个关键帧起合并到现有关键帧中",
    ),
    "Remove the keyframes and settings of imported motions and bring back what they replaced": (
        "インポートしたモーションのキーフレームと設定を取り除き、元の状態に戻します",
        "移除导入动作的关键帧和设置，恢复其替换的内容",
    ),
    "Extend Frame Range": ("フレーム範囲を延長", "扩展帧范围"),
    "Let the scene end no earlier than the motion": (
        "シーンがモーションより先に終わらないようにします",
        "使场景不早于动作结束",
    ),
    "Read from the model's file what its importer has lost: QDEF, SDEF, exact weights": (
        "インポート時に失われた QDEF、SDEF、正確なウェイトを、モデルのファイルから読み込みます",
        "从模型文件中读取导入时丢失的数据：QDEF、SDEF、精确权重",
    ),
}

# Labels of operators, and texts that buttons and menu entries have in their place.
_OPERATORS = {
    "MMD Skinning": ("MMD スキニング", "MMD 蒙皮"),
    "Bake MMD Skin": ("MMD スキニングをベイク", "烘焙 MMD 蒙皮"),
    "Clear Bake": ("ベイクをクリア", "清除烘焙"),
    "Export MMD Skin": ("MMD スキニングをエクスポート", "导出 MMD 蒙皮"),
    "MMD model, as baked (.glb, .fbx, .usdc, .abc)": (
        "MMD モデル（ベイク結果）(.glb, .fbx, .usdc, .abc)",
        "MMD 模型（烘焙结果）(.glb, .fbx, .usdc, .abc)",
    ),
    "Clear Motion": ("モーションをクリア", "清除动作"),
    "Import MMD Model": ("MMD モデルをインポート", "导入 MMD 模型"),
    "MMD model (.pmx, .pmd)": ("MMD モデル (.pmx, .pmd)", "MMD 模型 (.pmx, .pmd)"),
    "Import MMD Motion": ("MMD モーションをインポート", "导入 MMD 动作"),
    "MMD motion (.vmd, .vpd)": ("MMD モーション (.vmd, .vpd)", "MMD 动作 (.vmd, .vpd)"),
    "Restore Deform Data": ("変形データを復元", "恢复变形数据"),
}

# Context: English: (Japanese, Chinese)
TEXTS = {"*": {**_DEFAULT, **SENTENCES}, "Operator": _OPERATORS}
COLUMNS = {"ja_JP": 0, "zh_CN": 1, "zh_HANS": 1}  # Chinese has the latter name since 4.0

_locale = ""  # the user's, "" where sentences stay English


def tr(sentence: str, /, **values: object) -> str:
    """The sentence in the user's language, its {places} filled; on any thread."""
    return of_table(SENTENCES, sentence, **values)


def of_table(table: dict, sentence: str, /, **values: object) -> str:
    """As `tr`, of a table of its own."""
    follow()
    column = COLUMNS.get(_locale)
    found = table.get(sentence) if column is not None else None
    return (found[column] if found else sentence).format(**values)


def label(text: str, /, **values: object) -> str:
    """A text of the interface in the user's language; only where Blender draws."""
    return bpy.app.translations.pgettext_iface(text).format(**values)


def follow() -> None:
    """Note the user's language: on other threads than the main one Blender says English always."""
    global _locale
    if threading.get_ident() == threading.main_thread().ident:
        wanted = blender_versions.reports_are_translated()
        _locale = bpy.app.translations.locale if wanted else ""


def register():
    unregister()
    tables = {
        locale: {
            (context, english): translated[column]
            for context, texts in TEXTS.items()
            for english, translated in texts.items()
        }
        for locale, column in COLUMNS.items()
    }
    bpy.app.translations.register(__package__, tables)
    follow()


def unregister():
    bpy.app.translations.unregister(__package__)
