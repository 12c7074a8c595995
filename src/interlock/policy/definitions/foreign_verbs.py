"""Verbs of other languages by which tools say that they act or read, folded as by `spelling.fold`.

German, Spanish, French, Portuguese, Italian and Russian are matched by word; Chinese, Japanese and Korean by the
position of the verb in its clause. English words are in `vocabulary`.
"""

import re
from collections.abc import Mapping

ACTS: Mapping[str, str] = {
    "sends": (
        "senden sende sendet schicken schicke schickt verschicken verschickt versenden versendet abschicken "
        "weiterleiten enviar envia envie mandar notificar reenviar envoyer envoie envoyez transmettre inviare "
        "invia spedire spedisce отправить отправляет отправка послать разослать"
    ),
    "pays": (
        "bezahlen bezahle bezahlt zahlen zahlt uberweisen uberweist kaufen kauft bestellen bestellt spenden "
        "erstatten abbuchen pagar paga pague comprar compra vender transferir transfiere transfere reembolsar paie "
        "acheter achete transferer rembourser pagare acquistare acquista trasferire trasferisce rimborsare "
        "оплатить оплачивает перевести купить покупает"
    ),
    "publishes": (
        "veroffentlichen veroffentliche veroffentlicht publizieren publiziert hochladen publicar publica publique "
        "publier publie deployer pubblicare pubblica опубликовать публикует публикация"
    ),
    "shares": (
        "teilen teilt freigeben einladen compartir comparte invitar partager partage compartilhar compartilha "
        "partilhar condividere condivide поделиться"
    ),
    "books": (
        "buchen buche bucht reservieren reserviert stornieren storniert reservar cancelar cancela annuler annule "
        "reserver prenotare prenota annullare annulla забронировать бронирует отменить"
    ),
    "deletes": (
        "loschen losche loscht loeschen loescht entfernen entfernt vernichten vernichtet uberschreiben eliminar "
        "elimina elimine borrar borra borre suprimir quitar supprimer supprime supprimez effacer efface retirer "
        "detruire excluir exclui apagar apaga remover deletar eliminare cancellare cancella rimuovere rimuove "
        "удалить удаляет удаление стереть очистить"
    ),
    "changes access": (
        "gewahren gewahrt erteilen erteilt entziehen entzieht sperren entsperren berechtigen conceder concede "
        "otorgar otorga revocar revoca autorizar autoriza desbloquear accorder accorde revoquer autoriser "
        "deverrouiller revogar concedere revocare autorizzare разрешить предоставить отозвать"
    ),
    "changes what is stored": (
        "andern andere aendern andert erstellen erstellt anlegen aktualisieren aktualisiert speichern speichert "
        "bearbeiten verschieben hinzufugen umbenennen crear crea modificar modifica actualizar actualiza cambiar "
        "agregar anadir guardar creer modifie modifier ajouter ajoute enregistrer renommer criar cria atualizar "
        "alterar adicionar creare modificare aggiornare aggiungere создать изменить обновить добавить записать"
    ),
    "runs something": "ausfuhren fuhre starten ejecutar ejecuta executer lancer executar eseguire esegue выполнить",
    "controls a device": "einschalten ausschalten aufschliessen encender apaguar allumer eteindre accendere включить",
}

READS = frozenset(
    "abrufen holen hole holt zeigen zeige zeigt anzeigen suchen suche sucht lesen lies liest auflisten listet "
    "prufen pruft berechnen berechnet finden findet gibt liefert ruft obtener obtiene listar lista buscar busca "
    "leer lee consultar consulta mostrar muestra verificar calcular calcula devuelve obtenir recuperer recupere "
    "lister liste chercher rechercher recherche lire lit afficher affiche consulter verifier calculer calcule "
    "renvoie retourne obter ler mostra retorna ottenere elenca cercare cerca leggere legge restituisce получить "
    "получает найти показать список прочитать".split()
)
JOINS = frozenset("und oder dann y o luego despues et ou puis e poi depois и затем".split())
"""Conjunctions."""

LEADS_ONLY = frozenset("payer inviter modifier notifier".split())
"""French verbs that are also English nouns; they count as the first word of a name only."""

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_JAPANESE = re.compile("送信|削除|予約|検索|一覧|変更|実行|支払|表示|購入")
_HANGUL = re.compile(r"[\uac00-\ud7af]")

_CHINESE: Mapping[str, str] = {
    "sends": "发送|發送|寄送|群发|转发|轉發|推送|发信|发邮件|发短信|拨打",
    "pays": "支付|付款|转账|轉帳|汇款|匯款|购买|購買|充值|退款|提现|下单|打款|打赏|缴费|捐款",
    "publishes": "发布|發佈|發布|发表|發表|部署|上传|上傳",
    "shares": "分享|共享|邀请|邀請|泄露",
    "books": "预订|預訂|预定|预约|預約|订购|取消",
    "deletes": "删除|刪除|移除|清空|清除|销毁|覆盖|卸载|注销|抹掉|抹除",
    "changes access": "授权|授權|授予|撤销|撤銷|吊销|解锁|解鎖|审批|批准|禁用|启用",
    "changes what is stored": (
        "修改|更新|创建|創建|新建|新增|添加|编辑|編輯|写入|寫入|保存|移动|重命名|设置|更改|变更|提交|插入|替换"
    ),
    "runs something": "执行|執行|运行|運行|启动|停止|重启",
    "controls a device": "控制|打开|关闭|开启",
}
_CHINESE_READS = re.compile(
    "获取|獲取|查询|查詢|查看|列出|搜索|搜尋|读取|讀取|检索|显示|顯示|计算|計算|返回|统计|查找|浏览|取得|检查|分析|翻译|总结|识别|预测|验证|比较"
)
_CHINESE_CLAUSE = re.compile(
    r"[，。；、,.;:：！!\s（）()]+|并且|并|然后|接着|随后|以及|或者|或|及|再|後|后(?=[删发支转修更])"
)
_CHINESE_CONTENTS = re.compile(r"(?:包含|包括|涵盖)(?![^。；！？\n]*(?:功能|操作|并|然后))[^。；！？;!?\n]*")
"""The list of what a tool returns: `包含产品发布、应用推荐`."""
_CHINESE_NOUN = re.compile("日志|记录|时间|日期|状态|列表|历史|次数|数量|版本|者|人员|设备|平台|攻略|趋势")
_ENDING: Mapping[str, str] = {
    "sends": "送信|送付|送る|送り|転送|返信|通知|전송|발송|보내",
    "pays": "支払|決済|購入|振込|送金|返金|注文|課金|결제|송금|구매|환불",
    "publishes": "公開|投稿|配信|アップロード|デプロイ|게시|배포|업로드",
    "shares": "共有|招待|공유|초대",
    "books": "予約|キャンセル|取消|取り消|예약|취소",
    "deletes": "削除|消去|除去|破棄|上書き|初期化|삭제|제거|지우",
    "changes access": "付与|許可|承認|剥奪|解錠|ロック解除|부여|승인|해제",
    "changes what is stored": "変更|更新|作成|追加|編集|書き込|保存|移動|登録|수정|변경|생성|추가|저장|등록",
    "runs something": "実行|起動|停止|실행|시작|중지",
    "controls a device": "操作|制御|オンに|オフに|제어",
}
_ENDING_READS = re.compile(
    "取得|検索|表示|一覧|読み取|読み込|参照|確認|計算|取り出|返す|返し|返却|調べ|閲覧|分析|翻訳|要約|比較|"
    "조회|검색|가져|보기|보여|목록|읽|확인|계산|반환"
)
_CHINESE_ACTS = tuple((what, re.compile(words)) for what, words in _CHINESE.items())
_ENDING_ACTS = tuple((what, re.compile(words)) for what, words in _ENDING.items())
_GOES_ON = re.compile(r"\s*(?:し(?!た[^あ後ら]|ます|ました[^。]|ない)|て|してから|したら|した後|하고|한 후|한 다음)")


def act_in_cjk(text: str) -> tuple[str, str] | None:
    """What Chinese, Japanese or Korean words say that a tool does, and the word; None if nothing."""
    if not _WIDE.search(text) and not _KANA.search(text):
        return None
    if _KANA.search(text) or _JAPANESE.search(text) or _HANGUL.search(text):
        return _verb_last(text)
    if reads_first := _CHINESE_READS.match(text.lstrip()[:8]) is not None:
        text = _CHINESE_CONTENTS.sub("", text)
    for clause in _CHINESE_CLAUSE.split(text):
        found = [
            (match.start(), what, match.group())
            for what, acts in _CHINESE_ACTS
            for match in acts.finditer(clause)
            if not (reads_first and _is_chinese_noun(clause, match.start(), match.end()))
        ]
        if found:
            start, what, word = min(found)
            reads = _CHINESE_READS.search(clause)
            if reads is None or reads.start() > start:
                return what, word
    return None


def _is_chinese_noun(clause: str, start: int, end: int) -> bool:
    """Whether a verb is part of a noun in the description of a reading tool: `特定组件的更新日志`."""
    return clause[:start].endswith("的") or _CHINESE_NOUN.match(clause, end) is not None


def _verb_last(text: str) -> tuple[str, str] | None:
    for clause in re.split(r"[、。，,.;！!\n]+", text):
        last = max((match.end() for match in _ENDING_READS.finditer(clause)), default=-1)
        for what, acts in _ENDING_ACTS:
            for match in acts.finditer(clause):
                if match.start() >= last or _GOES_ON.match(clause, match.end()):
                    return what, match.group()
    return None
